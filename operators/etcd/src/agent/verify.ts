/** Compares a member that was restored from a backup with the cluster that the backup was taken from. */
import { setTimeout as sleep } from "node:timers/promises";
import { BackupError } from "@keelson/kit";
import type { Etcd, MemberStatus } from "../engine/etcd.ts";
import type { Manifest, SnapshotArchive } from "../engine/snapshot-archive.ts";

export interface VerifyOptions {
  readonly archive: SnapshotArchive;
  readonly name: string;
  /** The restored member, which only the verification uses. */
  readonly scratch: Etcd;
  readonly members: readonly Etcd[];
  readonly now?: () => number;
  /** How long the scratch member may take to serve. Default: 2 minutes. */
  readonly startMs?: number;
  /** Pause between two attempts. Default: 500 ms. */
  readonly pauseMs?: number;
}

/** Resolves to the verified manifest, as it is in the store afterwards. */
export async function verifySnapshot(options: VerifyOptions): Promise<Manifest> {
  const { archive, name, scratch, now = Date.now } = options;
  const manifest = await archive.read(name);
  if (manifest.verified) return manifest;
  const status = await served(options);
  if (status.revision < BigInt(manifest.revisionAtLeast)) {
    throw new BackupError(
      "ContentDiffers",
      `the restored member is at revision ${status.revision}; the cluster had acknowledged ${manifest.revisionAtLeast} before the snapshot began`,
    );
  }
  const [keys, comparison] = [await scratch.count(), await compare(status.revision, options)];
  const verified = {
    at: new Date(now()).toISOString(),
    etcdVersion: status.version,
    revision: String(status.revision),
    keys,
    ...comparison,
  };
  const proven = { ...manifest, verified };
  await archive.update(name, proven);
  return proven;
}

async function served({ scratch, startMs = 120_000, pauseMs = 500 }: VerifyOptions): Promise<MemberStatus> {
  for (let left = startMs; ; left -= pauseMs) {
    try {
      // A linearizable read: it has replayed its log and leads itself.
      await scratch.get("keelson.dev/read");
      return await scratch.status();
    } catch (cause) {
      if (left <= 0) {
        const { message } = cause as Error;
        throw new BackupError("RestoreFailed", `the restored member does not serve: ${message}`, { cause });
      }
    }
    await sleep(pauseMs);
  }
}

/**
 * The hash of all keys at the snapshot's revision, on both sides. Comparable only while both have compacted equally far,
 * and a compaction under way can show through for a moment.
 */
async function compare(
  revision: bigint,
  { scratch, members, pauseMs = 500 }: VerifyOptions,
): Promise<{ hash: string; compared: boolean }> {
  const own = await scratch.hashKv(revision);
  for (let attempt = 1; ; attempt++) {
    const answers = await Promise.allSettled(members.map((member) => member.hashKv(revision)));
    const comparable = answers.flatMap((answer) =>
      answer.status === "fulfilled" && answer.value.compactRevision === own.compactRevision
        ? [answer.value]
        : [],
    );
    if (comparable.length === 0) return { hash: own.hash, compared: false };
    if (comparable.some(({ hash }) => hash === own.hash)) return { hash: own.hash, compared: true };
    if (attempt === 3) {
      throw new BackupError(
        "ContentDiffers",
        `the restored member's hash at revision ${revision} is ${own.hash}; the cluster's is ${comparable[0]?.hash}`,
      );
    }
    await sleep(pauseMs);
  }
}
