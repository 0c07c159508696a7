/** Errors of the pure rules of workloads, by code. */

/** `InvalidObject`: an object is not as validation promises. */
export type WorkloadErrorCode = "InvalidObject";

export class WorkloadError extends Error {
  override readonly name = "WorkloadError";
  readonly code: WorkloadErrorCode;

  constructor(code: WorkloadErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
