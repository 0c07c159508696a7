/** The errors of core: texts and values that do not follow Kubernetes' rules. */

export type CoreErrorCode =
  | "InvalidQuantity"
  | "InvalidSelector"
  | "InvalidTime"
  | "InvalidDuration"
  | "InvalidSchedule";

/** The message is the API server's own wording where it has one. */
export class CoreError extends Error {
  readonly code: CoreErrorCode;

  constructor(code: CoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CoreError";
    this.code = code;
  }
}
