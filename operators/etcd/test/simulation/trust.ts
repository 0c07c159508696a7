/** Whether a certificate was issued by one of those that someone trusts: by signature, as TLS would decide. */
import { X509Certificate } from "node:crypto";

const known = new Map<string, boolean>();

export function isTrusted(leaf: string, bundle: string): boolean {
  const key = `${leaf}|${bundle}`;
  let trusted = known.get(key);
  if (trusted === undefined) {
    trusted = leaf !== "" && decide(leaf, bundle);
    known.set(key, trusted);
  }
  return trusted;
}

function decide(leaf: string, bundle: string): boolean {
  const certificate = new X509Certificate(leaf);
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks
    .map((block) => new X509Certificate(block))
    .some((authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
}
