/** The manifest of an etcd snapshot: with it and the snapshot, a cluster can be restored. */
import { BackupArchive, manifestFields, type Store } from "@keelson/kit";
import { z } from "keelson";

const verification = z.object({
  at: z.string(),
  /** The etcd that restored it. */
  etcdVersion: z.string(),
  revision: z.string(),
  keys: z.number(),
  hash: z.string().optional(),
  /** The hash was compared with that of a member; it cannot be when the cluster has compacted since. */
  compared: z.boolean(),
});

const manifestSchema = z.object({
  ...manifestFields,
  cluster: z.string(),
  clusterId: z.string(),
  memberId: z.string(),
  etcdVersion: z.string(),
  /** Everything acknowledged up to here is in the snapshot: a linearizable read before it began. */
  revisionAtLeast: z.string(),
  verified: verification.optional(),
});

export type Manifest = z.output<typeof manifestSchema>;

/** The snapshots in a store. */
export type SnapshotArchive = BackupArchive<Manifest>;

export function snapshotArchive(store: Store): SnapshotArchive {
  return new BackupArchive(store, { extension: ".db", manifest: manifestSchema });
}
