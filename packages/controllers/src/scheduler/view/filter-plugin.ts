/** What a filter says of one node, and what it says of the pod before any node is looked at. */
import type { PodObject } from "@keelson/workloads";
import type { NodeInfo } from "./node-info.ts";
import type { Snapshot } from "./snapshot.ts";

/** Why a pod cannot be on a node. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether the pod could be there if other pods left. */
  readonly resolvable: boolean;
}

export function rejected(resolvable: boolean, ...reasons: string[]): Rejection {
  return { reasons, resolvable };
}

/** One rule that a node must satisfy for a pod. */
export type NodeFilter = (node: NodeInfo) => Rejection | undefined;

/**
 * Prepares the rule for a pod: looks at the cluster once, then judges nodes one by one. A rejection instead of a filter
 * means that no node will do.
 */
export type FilterPlugin = (pod: PodObject, snapshot: Snapshot) => NodeFilter | Rejection | undefined;
