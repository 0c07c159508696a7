/** What the controller of EtcdBackup touches. */
import { all, type Context, many, own, ref } from "keelson";
import { Pod } from "keelson/kinds";
import { EtcdBackup, type EtcdBackupObject } from "../api/backup.ts";
import { EtcdCluster } from "../api/cluster.ts";

export const owns = { workers: many(Pod, { absent: "keep" }), remover: own(Pod, { absent: "keep" }) };
export const reads = {
  /** Those that wait for the same cluster. */
  backups: all(EtcdBackup),
  cluster: ref(EtcdCluster, (backup: EtcdBackupObject) => ({
    name: backup.spec.cluster,
    namespace: backup.metadata.namespace ?? "default",
  })),
};
export type BackupContext = Context<typeof EtcdBackup, typeof owns, typeof reads>;
