/** What the operator touches: its children, the nodes they run on, the backup they begin from, and nothing else. */
import { all, type Context, many, ref } from "keelson";
import { Node, PersistentVolumeClaim, Pod, PodDisruptionBudget, Service } from "keelson/kinds";
import { EtcdBackup } from "./api/backup.ts";
import type { EtcdCluster, EtcdClusterObject } from "./api/cluster.ts";

export const owns = {
  /** Names every member, ready or not. */
  peers: Service,
  clients: Service,
  budget: PodDisruptionBudget,
  /** Data outlives whatever is done to its cluster; `finalize` decides its end. */
  claims: many(PersistentVolumeClaim, { outlives: true }),
  pods: many(Pod),
  /** Pods that try a template before a rollout begins. */
  trials: many(Pod),
};

export const reads = {
  nodes: all(Node),
  restoreFrom: ref(EtcdBackup, ({ spec, metadata }: EtcdClusterObject) =>
    spec.restoreFrom?.backup === undefined
      ? undefined
      : { name: spec.restoreFrom.backup, namespace: metadata.namespace ?? "default" },
  ),
};

export type EtcdContext = Context<typeof EtcdCluster, typeof owns, typeof reads, []>;
