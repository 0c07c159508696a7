/** Certificates for what an operator runs: an authority and its leaves, without OpenSSL. */
export { type CertificateOptions, createAuthority, createLeaf, type KeyPair } from "@keelson/pki";
