/** Compares a member that was restored from a backup with the cluster that the backup was taken from. */
import { setTimeout as sleep } from "node:timers/promises";
import { BackupError } from "@keelson/kit";
import type { Etcd, KeyHash, MemberStatus } from "../engine/etcd.ts";
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
  const keys = await scratch.count();
  const atLeast = BigInt(manifest.revisionAtLeast);
  const { revision, ...comparison } = await compare([status.revision, atLeast], options);
  const verified = {
    at: new Date(now()).toISOString(),
    etcdVersion: status.version,
    revision: String(revision),
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

interface Comparison {
  readonly revision: bigint;
  readonly hash: string;
  readonly compared: boolean;
}

/**
 * The hash of all keys at one of these revisions, on both sides. The restored member has its own leases: when one expires,
 * it deletes keys at a revision at which the cluster did something else. So its newest revision is tried first, then the
 * one that the cluster had acknowledged before the snapshot began: what comes later changes no hash of it.
 */
async function compare(
  revisions: readonly [bigint, ...bigint[]],
  options: VerifyOptions,
): Promise<Comparison> {
  const { scratch, pauseMs = 500 } = options;
  const newest = { revision: revisions[0], hash: (await scratch.hashKv(revisions[0])).hash };
  for (let attempt = 1; ; attempt++) {
    let problem: BackupError | undefined;
    for (const revision of revisions) {
      const result = await compareAt(revision, options);
      if (result instanceof BackupError) problem ??= result;
      else if (result) return { revision, hash: result.hash, compared: true };
    }
    if (!problem) return { ...newest, compared: false };
    if (attempt === 3) throw problem;
    await sleep(pauseMs);
  }
}

/**
 * Undefined when no member can be compared: only those can that have compacted equally far, and a compaction under way can
 * show through for a moment.
 */
async function compareAt(
  revision: bigint,
  { scratch, members }: VerifyOptions,
): Promise<KeyHash | BackupError | undefined> {
  // It may have compacted past it while the snapshot was taken.
  const own = await scratch.hashKv(revision).catch(() => undefined);
  if (!own) return undefined;
  const answers = await Promise.allSettled(members.map((member) => member.hashKv(revision)));
  const comparable = answers.flatMap((answer) =>
    answer.status === "fulfilled" && answer.value.compactRevision === own.compactRevision
      ? [answer.value]
      : [],
  );
  if (comparable.length === 0) return undefined;
  // One of them is the member that the snapshot was taken from: its word alone proves nothing while others differ.
  const others = comparable.filter(({ hash }) => hash !== own.hash);
  if (others.length * 2 < comparable.length) return own;
  return new BackupError(
    "ContentDiffers",
    `the restored member's hash at revision ${revision} is ${own.hash}, as that of ${comparable.length - others.length} of ${comparable.length} members; ${others.length} have ${others[0]?.hash}`,
  );
}
