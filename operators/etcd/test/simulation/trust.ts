/** Whether a certificate was issued by one of those that someone trusts: by signature, as TLS would decide. */
import { X509Certificate } from "node:crypto";

/** By bundle, then by leaf: so many bundles are remembered. */
const bundlesKept = 256;
const known = new Map<string, Map<string, boolean>>();

export function isTrusted(leaf: string, bundle: string): boolean {
  let leaves = known.get(bundle);
  if (!leaves) {
    if (known.size >= bundlesKept) known.clear();
    leaves = new Map();
    known.set(bundle, leaves);
  }
  let trusted = leaves.get(leaf);
  if (trusted === undefined) {
    trusted = leaf !== "" && decide(leaf, bundle);
    leaves.set(leaf, trusted);
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
