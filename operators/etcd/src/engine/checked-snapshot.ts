/** A snapshot on its way from etcd, compared with the checksum that etcd puts at its end. */
import { createHash } from "node:crypto";
import { BackupError } from "@keelson/kit";

/** etcd appends the SHA-256 of the database, from 3.4 on. */
const trailerBytes = 32;

/**
 * Passes the bytes on and throws `SnapshotDamaged` at the end when they are not what etcd sent: a store that publishes
 * only what ended well never shows a damaged snapshot.
 */
export async function* checkedSnapshot(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const database = createHash("sha256");
  let tail: Buffer = Buffer.alloc(0);
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.length;
    const seen = Buffer.concat([tail, chunk]);
    const cut = Math.max(0, seen.length - trailerBytes);
    database.update(seen.subarray(0, cut));
    tail = seen.subarray(cut);
    yield chunk;
  }
  if (sizeBytes <= trailerBytes || !database.digest().equals(tail)) {
    throw new BackupError(
      "SnapshotDamaged",
      `the snapshot of ${sizeBytes} bytes does not end with its own checksum: it was truncated or changed in transit`,
    );
  }
}
