/** Digests of what is served, for entity tags and hashes. */
import { createHash } from "node:crypto";

/** A short digest for tags and hashes that must not change between runs. */
export function digest(text: string | Uint8Array): string {
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}
