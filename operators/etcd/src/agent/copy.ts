/** Takes a snapshot into the store. */

import { checkedSnapshot } from "../engine/checked-snapshot.ts";
import { type Etcd, hex } from "../engine/etcd.ts";
import type { Manifest, SnapshotArchive } from "../engine/snapshot-archive.ts";
import { chooseSource } from "../engine/snapshot-source.ts";

export interface CopyOptions {
  readonly archive: SnapshotArchive;
  readonly members: readonly Etcd[];
  readonly name: string;
  readonly backupUid: string;
  readonly cluster: string;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Streams, checks and publishes. An attempt that finds the manifest of an earlier one has nothing left to do. */
export async function copySnapshot(options: CopyOptions): Promise<Manifest> {
  const { archive, members, name, backupUid, cluster, now = Date.now } = options;
  return await archive.publish(name, {
    backupUid,
    source: async () => {
      const { etcd, status, revision } = await chooseSource(members);
      const takenAt = new Date(now()).toISOString();
      return {
        content: checkedSnapshot(etcd.snapshot()),
        describe: (digest) => ({
          format: 1,
          backupUid,
          cluster,
          clusterId: hex(status.clusterId),
          memberId: hex(status.memberId),
          etcdVersion: status.version,
          takenAt,
          revisionAtLeast: String(revision),
          ...digest,
        }),
      };
    },
  });
}
