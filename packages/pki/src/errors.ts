/** The errors of certificates and certificate requests. */

/**
 * - `BadEncoding`: the bytes are not the DER of a certificate or request.
 * - `BadRequest`: the request lacks a part.
 * - `BadSignature`: the request is not signed with its own key, or with an algorithm that we do not verify.
 */
export type PkiErrorCode = "BadEncoding" | "BadRequest" | "BadSignature";

/** Every error that this package throws. */
export class PkiError extends Error {
  readonly code: PkiErrorCode;
  constructor(code: PkiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PkiError";
    this.code = code;
  }
}
