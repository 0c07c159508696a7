/** Errors of the cluster as a whole, by code; its parts have their own. */

export type ClusterErrorCode = "BadName" | "NoState" | "StartFailed" | "InUse" | "NotRunning" | "Unsupported";

export class ClusterError extends Error {
  override readonly name = "ClusterError";
  readonly code: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
