/** A certificate for a server on loopback. */
import { createAuthority, createLeaf } from "@keelson/pki";

export interface Certificate {
  /** The certificate of the authority that signed `cert`. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export function loopbackCertificate(): Certificate {
  const [notBeforeMs, notAfterMs] = [Date.now() - 60_000, Date.now() + 24 * 3600_000];
  const authority = createAuthority("loopback-ca", notBeforeMs, notAfterMs);
  const { certificate: cert, key } = createLeaf(authority, {
    subject: { commonName: "localhost" },
    names: ["127.0.0.1", "localhost"],
    usages: ["server"],
    notBeforeMs,
    notAfterMs,
  });
  return { ca: authority.certificate, cert, key };
}
