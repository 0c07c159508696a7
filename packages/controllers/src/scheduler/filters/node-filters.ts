/** Filters that look at one node alone: cordons, taints, affinity to nodes, ports, resources. */
import type { Taint } from "@keelson/core/kinds";
import { isTolerated, matchesNode, portsConflict, untolerated } from "@keelson/workloads";
import { type FilterPlugin, rejected } from "../view/filter-plugin.ts";
import { podInfo } from "../view/node-info.ts";

const cordon: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

export const nodeUnschedulable: FilterPlugin = (pod) => {
  if (isTolerated(cordon, pod.spec.tolerations)) return undefined;
  return ({ node }) => (node.spec.unschedulable ? rejected(false, "node(s) were unschedulable") : undefined);
};

export const taintToleration: FilterPlugin =
  (pod) =>
  ({ node }) =>
    untolerated(node.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"])
      ? rejected(false, "node(s) had untolerated taint(s)")
      : undefined;

export const nodeAffinity: FilterPlugin =
  (pod) =>
  ({ node }) =>
    matchesNode(pod.spec, node)
      ? undefined
      : rejected(false, "node(s) didn't match Pod's node affinity/selector");

export const nodePorts: FilterPlugin = (pod) => {
  const wanted = podInfo(pod).hostPorts;
  if (wanted.length === 0) return undefined;
  return ({ pods }) =>
    pods.some(({ hostPorts }) => hostPorts.some((taken) => wanted.some((port) => portsConflict(port, taken))))
      ? rejected(true, "node(s) didn't have free ports for the requested pod ports")
      : undefined;
};

export const nodeResources: FilterPlugin = (pod) => {
  const wanted = [...podInfo(pod).requests].filter(([, amount]) => amount > 0);
  return ({ pods, allocatable, requested }) => {
    const reasons: string[] = [];
    let resolvable = true;
    if (pods.length + 1 > (allocatable.get("pods") ?? 0)) reasons.push("Too many pods");
    for (const [name, amount] of wanted) {
      const total = allocatable.get(name) ?? 0;
      if (amount <= total - (requested.get(name) ?? 0)) continue;
      reasons.push(`Insufficient ${name}`);
      // More than the whole node has: no pod that leaves can help.
      if (amount > total) resolvable = false;
    }
    return reasons.length > 0 ? rejected(resolvable, ...reasons) : undefined;
  };
};
