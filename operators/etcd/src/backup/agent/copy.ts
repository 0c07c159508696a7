/** Takes a snapshot into the store. */

import type { Store } from "@keelson/kit";
import { BackupError, isBackupError } from "@keelson/kit";
import type { Etcd } from "../../engine/etcd.ts";
import { findManifest, type Manifest, snapshotKey, writeManifest } from "../manifest.ts";
import { checkedSnapshot, type SnapshotDigest } from "./checked-snapshot.ts";
import { chooseSource } from "./source.ts";

export interface CopyOptions {
  readonly store: Store;
  readonly members: readonly Etcd[];
  readonly name: string;
  readonly backupUid: string;
  readonly cluster: string;
  readonly now?: () => number;
}

/**
 * Streams, checks and publishes: the snapshot first, then the manifest that makes it one. An attempt that finds the
 * manifest of an earlier one has nothing left to do.
 */
export async function copySnapshot(options: CopyOptions): Promise<Manifest> {
  const { store, name, backupUid, cluster, now = Date.now } = options;
  const earlier = await findManifest(store, name);
  if (earlier) return ours(earlier, options);
  const { etcd, status, revision } = await chooseSource(options.members);
  const takenAt = new Date(now()).toISOString();
  let digest: SnapshotDigest | undefined;
  await store.put(
    snapshotKey(name),
    checkedSnapshot(etcd.snapshot(), (end) => {
      digest = end;
    }),
  );
  if (!digest) throw new BackupError("SnapshotDamaged", "the store ended the snapshot before etcd did");
  const manifest: Manifest = {
    format: 1,
    backupUid,
    cluster,
    clusterId: BigInt(status.clusterId).toString(16),
    memberId: BigInt(status.memberId).toString(16),
    etcdVersion: status.version,
    takenAt,
    revisionAtLeast: String(revision),
    ...digest,
  };
  try {
    await writeManifest(store, name, manifest, { ifAbsent: true });
  } catch (error) {
    // Its answer may have been lost: then the manifest that stands there is this one.
    const standing = isBackupError(error, "NotOurs") ? await findManifest(store, name) : undefined;
    if (!standing) throw error;
    return ours(standing, options);
  }
  return manifest;
}

function ours(manifest: Manifest, { name, backupUid }: CopyOptions): Manifest {
  if (manifest.backupUid === backupUid) return manifest;
  throw new BackupError(
    "NotOurs",
    `${name} belongs to the backup with UID ${manifest.backupUid}, not to ${backupUid}; nothing was written`,
  );
}
