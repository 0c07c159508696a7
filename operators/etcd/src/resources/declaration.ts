/** What the operator touches: its children, the nodes they run on, the backups they have, and nothing else. */
import { all, type Context, many, own, ref } from "keelson";
import { Node, PersistentVolumeClaim, Pod, PodDisruptionBudget, Secret, Service } from "keelson/kinds";
import { EtcdBackup, EtcdBackupSchedule } from "../api/backup.ts";
import type { EtcdCluster, EtcdClusterObject } from "../api/cluster.ts";
import { clientServiceName } from "./services.ts";

/**
 * When a cluster is deleted in the foreground, the garbage collector deletes its children first. What a final backup
 * needs outlives that: `finalize` deletes it.
 */
export const owns = {
  /** Names every member, ready or not. Second owner of the members' pods, see `ownersOf`. */
  peers: own(Service, { outlives: true }),
  clients: own(Service, { name: clientServiceName }),
  budget: PodDisruptionBudget,
  claims: many(PersistentVolumeClaim, { outlives: true }),
  pods: many(Pod, { outlives: true }),
  /** Authorities and certificates. */
  secrets: many(Secret, { outlives: true, absent: "keep" }),
  /** The final backup, which remains when everything else is gone. */
  finalBackups: many(EtcdBackup, { outlives: true, absent: "keep" }),
  /** Pods that try a template before a rollout starts. */
  trials: many(Pod, { outlives: true }),
};

export const reads = {
  nodes: all(Node),
  schedules: all(EtcdBackupSchedule),
  restoreFrom: ref(EtcdBackup, ({ spec, metadata }: EtcdClusterObject) =>
    spec.restoreFrom?.backup === undefined
      ? undefined
      : { name: spec.restoreFrom.backup, namespace: metadata.namespace ?? "default" },
  ),
};

export type EtcdContext = Context<typeof EtcdCluster, typeof owns, typeof reads, []>;
