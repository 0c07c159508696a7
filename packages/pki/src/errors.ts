/** The errors of certificates and certificate requests. */

export type PkiErrorCode = "BadEncoding" | "BadRequest" | "BadSignature";

export class PkiError extends Error {
  readonly code: PkiErrorCode;
  constructor(code: PkiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PkiError";
    this.code = code;
  }
}
