/** Errors of the cluster as a whole, by code; its parts have their own. */

export type ClusterErrorCode =
  | "BadName"
  | "BadDataDir"
  | "NoState"
  | "StartFailed"
  | "InUse"
  | "NotRunning"
  | "Unsupported";

/** Why a cluster cannot be started, stopped or changed, by code. */
export class ClusterError extends Error {
  override readonly name = "ClusterError";
  readonly code: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
