/** Certificates without OpenSSL: an authority, leaves, and signing requests. */
export {
  backdateMs,
  type CertificateOptions,
  certify,
  createAuthority,
  createLeaf,
  type KeyPair,
  type Subject,
} from "./certificate.ts";
export {
  type CertificateRequest,
  createCertificateRequest,
  readCertificateRequest,
} from "./certificate-request.ts";
export { PkiError, type PkiErrorCode } from "./errors.ts";
export { type PemBlock, pemBlocks } from "./pem.ts";
