/** What the operator touches: its children, the nodes they run on, and nothing else. */
import { all, type Context, many } from "keelson";
import { Node, PersistentVolumeClaim, Pod, PodDisruptionBudget, Service } from "keelson/kinds";
import type { EtcdCluster } from "./api/cluster.ts";

export const owns = {
  /** Names every member, ready or not. */
  peers: Service,
  clients: Service,
  budget: PodDisruptionBudget,
  /** Data outlives whatever is done to its cluster; `finalize` decides its end. */
  claims: many(PersistentVolumeClaim, { outlives: true }),
  pods: many(Pod),
};

export const reads = { nodes: all(Node) };

export type EtcdContext = Context<typeof EtcdCluster, typeof owns, typeof reads, []>;
