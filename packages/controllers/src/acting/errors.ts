/** Every error that the controllers throw themselves. */

/**
 * - `OwnerGone`: an object was about to be adopted by, or made for, an owner that has been deleted.
 * - `InvalidObject`: an object is not as validation promises.
 * - `Incomplete`: work is left that the next run will take up.
 */
export type ControllerErrorCode = "OwnerGone" | "InvalidObject" | "Incomplete";

export class ControllerError extends Error {
  readonly code: ControllerErrorCode;

  constructor(code: ControllerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ControllerError";
    this.code = code;
  }
}
