// Every way in which starting the real control plane can fail.

export type ControlPlaneErrorCode =
  /** A program is not on this machine; the message says how to get it. */
  | "ProgramMissing"
  /** A program ended by itself; the message carries the end of its log. */
  | "ProgramExited"
  /** A port was taken by somebody else between choosing and using it. */
  | "PortInUse"
  /** It did not become ready in time. */
  | "NotReady";

export class ControlPlaneError extends Error {
  override readonly name = "ControlPlaneError";
  readonly code: ControlPlaneErrorCode;

  constructor(code: ControlPlaneErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
