/** A snapshot on its way from etcd, checked against the checksum that etcd puts at its end. */
import { createHash } from "node:crypto";
import { BackupError } from "@keelson/kit";

/** etcd appends the SHA-256 of the database, from 3.4 on. */
const trailerBytes = 32;

export interface SnapshotDigest {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/**
 * Passes the bytes on and throws `SnapshotDamaged` at the end when they are not what etcd sent: a store that publishes
 * only what ended well never shows a damaged snapshot. `onEnd` hears what went through.
 */
export async function* checkedSnapshot(
  chunks: AsyncIterable<Uint8Array>,
  onEnd: (digest: SnapshotDigest) => void,
): AsyncIterable<Uint8Array> {
  const whole = createHash("sha256");
  const database = createHash("sha256");
  let tail: Buffer = Buffer.alloc(0);
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    whole.update(chunk);
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
      `the snapshot of ${sizeBytes} bytes does not end with its own checksum: it was cut short or changed on its way`,
    );
  }
  onEnd({ sha256: whole.digest("hex"), sizeBytes });
}

/** Passes the bytes on and throws `StoredDamaged` at the end when they are not the ones expected. */
export async function* checkedDigest(
  chunks: AsyncIterable<Uint8Array>,
  expected: SnapshotDigest,
  what: string,
): AsyncIterable<Uint8Array> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    yield chunk;
  }
  const sha256 = hash.digest("hex");
  if (sha256 === expected.sha256 && sizeBytes === expected.sizeBytes) return;
  throw new BackupError(
    "StoredDamaged",
    `${what} has ${sizeBytes} bytes with SHA-256 ${sha256}; its manifest says ${expected.sizeBytes} with ${expected.sha256}`,
  );
}
