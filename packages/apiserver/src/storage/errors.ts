/** The errors of durable storage. */

/**
 * - `Locked`: another process has the directory.
 * - `Corrupt`: records are damaged or missing that other records follow; a torn tail is no error.
 * - `TooNew`: a later release wrote the directory in a format that this one does not know.
 * - `Failed`: the disk refused a write; nothing is acknowledged any more.
 */
export type StorageErrorCode = "Locked" | "Corrupt" | "TooNew" | "Failed";

/** Why a data directory cannot be opened, read or written, by code. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageError";
    this.code = code;
  }
}
