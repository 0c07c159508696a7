/** Checksums of bytes on their way. */
import { createHash } from "node:crypto";
import { BackupError } from "../errors.ts";

/** What identifies content: its length and its checksum. */
export interface Digest {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Passes the bytes on, and calls `onEnd` with their digest when the source has ended well. */
export async function* withDigest(
  content: AsyncIterable<Uint8Array>,
  onEnd: (digest: Digest) => void,
): AsyncIterable<Uint8Array> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    yield chunk;
  }
  onEnd({ sha256: hash.digest("hex"), sizeBytes });
}

/**
 * Passes the bytes on, and throws `StoredDamaged` at the end when they are not the expected ones. Do not act on the
 * bytes before the iteration has ended. `name` is what the error calls them.
 */
export async function* checkedContent(
  content: AsyncIterable<Uint8Array>,
  expected: Digest,
  name: string,
): AsyncIterable<Uint8Array> {
  let found: Digest | undefined;
  yield* withDigest(content, (digest) => {
    found = digest;
  });
  if (found?.sha256 === expected.sha256 && found.sizeBytes === expected.sizeBytes) return;
  throw new BackupError(
    "StoredDamaged",
    `${name} has ${found?.sizeBytes} bytes with SHA-256 ${found?.sha256}; its manifest says ${expected.sizeBytes} with ${expected.sha256}`,
  );
}
