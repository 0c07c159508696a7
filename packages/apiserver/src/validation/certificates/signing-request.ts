/** The request inside a CertificateSigningRequest. */
import { PkiError, readCertificateRequest } from "@keelson/pki";

export type SigningRequest = { readonly organizations: readonly string[] } | { readonly problem: string };

/** Reads base64 of a PEM block and checks its signature. */
export function parseSigningRequest(request: string | undefined): SigningRequest {
  const pem = Buffer.from(request ?? "", "base64").toString("latin1");
  if (!/^-----BEGIN CERTIFICATE REQUEST-----$/m.test(pem))
    return { problem: "PEM block type must be CERTIFICATE REQUEST" };
  try {
    return { organizations: readCertificateRequest(pem).subject.organizations ?? [] };
  } catch (error) {
    if (error instanceof PkiError && error.code === "BadSignature")
      return { problem: "x509: ECDSA verification failure" };
    return { problem: error instanceof PkiError ? `asn1: ${error.message}` : "x509: unsupported public key" };
  }
}
