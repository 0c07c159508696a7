/** The errors of patches and of server-side apply. */

/**
 * - `BadPatch`: the patch itself is malformed (400).
 * - `PatchFailed`: the patch is well formed but does not fit the object (422).
 * - `PatchUnusable`: the patch cannot be applied for a reason that the API server answers with 500.
 * - `TypeMismatch`: an object does not fit its schema (the API server answers 500).
 * - `BadApply`: the applied object is not acceptable as such (400).
 * - `BadManagedFields`: ownership entries that cannot be read.
 * - `BadSchema`: a schema that cannot be understood.
 */
export type MergeErrorCode =
  | "BadPatch"
  | "PatchFailed"
  | "PatchUnusable"
  | "TypeMismatch"
  | "BadApply"
  | "BadManagedFields"
  | "BadSchema";

/** The message is the API server's own wording where it has one. */
export class MergeError extends Error {
  readonly code: MergeErrorCode;

  constructor(code: MergeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "MergeError";
    this.code = code;
  }
}
