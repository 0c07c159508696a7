/** What the controller of EtcdBackup touches. */
import { type Context, many, own, ref } from "keelson";
import { Pod } from "keelson/kinds";
import type { EtcdBackup, EtcdBackupObject } from "../api/backup.ts";
import { EtcdCluster } from "../api/cluster.ts";

export const owns = { workers: many(Pod, { absent: "keep" }), remover: own(Pod, { absent: "keep" }) };
export const reads = {
  cluster: ref(EtcdCluster, (backup: EtcdBackupObject) => ({
    name: backup.spec.cluster,
    namespace: backup.metadata.namespace ?? "default",
  })),
};
export type BackupContext = Context<typeof EtcdBackup, typeof owns, typeof reads>;
