/** Certificates are the runtime's: operators issue them too. */
export {
  type CertificateOptions,
  type CertificateRequest,
  certify,
  createAuthority,
  createLeaf,
  type KeyPair,
  PkiError,
  type PkiErrorCode,
  pem,
  pemBytes,
  readCertificateRequest,
  type Subject,
} from "@keelson/runtime/pki";
