/** Where a pod goes, or why it goes nowhere. Pure: the cluster comes in as a snapshot. */
import { compareBytes } from "@keelson/core/internal";
import type { PodObject } from "@keelson/workloads";
import { requiredNodeNames } from "@keelson/workloads";
import {
  nodeAffinity,
  nodePorts,
  nodeResources,
  nodeUnschedulable,
  taintToleration,
} from "./filters/node-filters.ts";
import { podAffinity } from "./filters/pod-affinity.ts";
import { topologySpread } from "./filters/topology-spread.ts";
import { volumeBinding, volumeRestrictions } from "./filters/volumes.ts";
import { bestNode } from "./scores.ts";
import type { FilterPlugin, NodeFilter, Rejection } from "./view/filter-plugin.ts";
import type { NodeInfo } from "./view/node-info.ts";
import type { Snapshot } from "./view/snapshot.ts";

/** In the order in which they speak: the first that rejects a node gives its reasons. */
const filters: readonly FilterPlugin[] = [
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResources,
  volumeRestrictions,
  volumeBinding,
  topologySpread,
  podAffinity,
];

export type Decision =
  | { readonly node: NodeInfo }
  | {
      /** What every node was rejected for. */
      readonly rejections: ReadonlyMap<NodeInfo, Rejection>;
      readonly message: string;
      /** No node was looked at: the pod itself cannot be anywhere, and no pod that leaves can help. */
      readonly isHopeless: boolean;
    };

const otherNode: Rejection = {
  reasons: ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
  resolvable: false,
};

export function decide(pod: PodObject, snapshot: Snapshot): Decision {
  if (snapshot.nodes.length === 0) {
    return { rejections: new Map(), message: "no nodes available to schedule pods", isHopeless: true };
  }
  const prepared: NodeFilter[] = [];
  for (const plugin of filters) {
    const filter = plugin(pod, snapshot);
    if (filter === undefined) continue;
    if (typeof filter === "function") prepared.push(filter);
    else return refused(snapshot, new Map(snapshot.nodes.map((info) => [info, filter])), filter);
  }
  const names = requiredNodeNames(pod.spec);
  const fitting: NodeInfo[] = [];
  const rejections = new Map<NodeInfo, Rejection>();
  for (const info of snapshot.nodes) {
    const rejection = names && !names.has(info.name) ? otherNode : firstRejection(prepared, info);
    if (rejection) rejections.set(info, rejection);
    else fitting.push(info);
  }
  const node = bestNode(pod, snapshot, fitting);
  return node ? { node } : refused(snapshot, rejections);
}

function firstRejection(prepared: readonly NodeFilter[], info: NodeInfo): Rejection | undefined {
  for (const filter of prepared) {
    const rejection = filter(info);
    if (rejection) return rejection;
  }
  return undefined;
}

/** Why the pod cannot be on a node as it would be; undefined when it can. */
export function firstReason(pod: PodObject, snapshot: Snapshot, info: NodeInfo): Rejection | undefined {
  for (const plugin of filters) {
    const filter = plugin(pod, snapshot);
    const rejection = typeof filter === "function" ? filter(info) : filter;
    if (rejection) return rejection;
  }
  return undefined;
}

function refused(
  snapshot: Snapshot,
  rejections: ReadonlyMap<NodeInfo, Rejection>,
  everywhere?: Rejection,
): Decision {
  const all = snapshot.nodes.length;
  if (everywhere) {
    // Its last words are those of a step that was never prepared; people search for the whole sentence.
    const message = `0/${all} nodes are available: ${everywhere.reasons.join(", ")}. not found`;
    return { rejections, message, isHopeless: true };
  }
  const why = histogram([...rejections.values()]);
  return { rejections, message: `0/${all} nodes are available: ${why}.`, isHopeless: false };
}

/** `1 Insufficient cpu, 2 node(s) were unschedulable`: how many nodes for which reason, sorted as text. */
export function histogram(rejections: readonly Rejection[]): string {
  const counts = new Map<string, number>();
  for (const { reasons } of rejections) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort(compareBytes)
    .join(", ");
}
