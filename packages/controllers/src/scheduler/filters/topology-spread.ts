/** Filter that keeps pods evenly spread over domains of nodes. */
import { type LabelSelector, labelSelectorFrom, matchesLabels } from "@keelson/core";
import type { TopologySpreadConstraint } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { matchesNode, untolerated } from "@keelson/workloads";
import { type FilterPlugin, rejected } from "../view/filter-plugin.ts";
import type { NodeInfo } from "../view/node-info.ts";
import type { Snapshot } from "../view/snapshot.ts";

const mismatch = "node(s) didn't match pod topology spread constraints";

/** The constraint's selector, narrowed to pods with the same values of `matchLabelKeys`. */
export function spreadSelector(constraint: TopologySpreadConstraint, pod: PodObject): LabelSelector {
  const selector = labelSelectorFrom(constraint.labelSelector);
  if (selector.nothing) return selector;
  const same = (constraint.matchLabelKeys ?? [])
    .filter((key) => pod.metadata.labels?.[key] !== undefined)
    .map((key) => ({ key, operator: "=" as const, values: [pod.metadata.labels?.[key] ?? ""] }));
  return { requirements: [...selector.requirements, ...same] };
}

/** Whether the node counts as a place for the pod under this constraint. */
export function isEligible(
  constraint: TopologySpreadConstraint,
  pod: PodObject,
  { node }: NodeInfo,
): boolean {
  if ((constraint.nodeAffinityPolicy ?? "Honor") === "Honor" && !matchesNode(pod.spec, node)) return false;
  return (
    constraint.nodeTaintsPolicy !== "Honor" ||
    untolerated(node.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"]) === undefined
  );
}

export function countMatching(
  info: NodeInfo,
  selector: LabelSelector,
  namespace: string | undefined,
): number {
  return info.pods.filter(
    ({ pod }) =>
      pod.metadata.namespace === namespace &&
      pod.metadata.deletionTimestamp === undefined &&
      matchesLabels(selector, pod.metadata.labels),
  ).length;
}

interface Domains {
  readonly constraint: TopologySpreadConstraint;
  readonly selfMatches: boolean;
  readonly counts: ReadonlyMap<string, number>;
  readonly least: number;
}

function domainsOf(
  constraint: TopologySpreadConstraint,
  hard: readonly TopologySpreadConstraint[],
  pod: PodObject,
  snapshot: Snapshot,
): Domains {
  const selector = spreadSelector(constraint, pod);
  const counts = new Map<string, number>();
  for (const info of snapshot.nodes) {
    const labels = info.node.metadata.labels ?? {};
    if (!hard.every(({ topologyKey }) => labels[topologyKey] !== undefined)) continue;
    if (!isEligible(constraint, pod, info)) continue;
    const domain = labels[constraint.topologyKey] as string;
    const count = countMatching(info, selector, pod.metadata.namespace);
    counts.set(domain, (counts.get(domain) ?? 0) + count);
  }
  const enough = counts.size >= (constraint.minDomains ?? 1);
  return {
    constraint,
    selfMatches: matchesLabels(selector, pod.metadata.labels),
    counts,
    least: enough && counts.size > 0 ? Math.min(...counts.values()) : 0,
  };
}

export const topologySpread: FilterPlugin = (pod, snapshot) => {
  const hard = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule",
  );
  if (hard.length === 0) return undefined;
  const all = hard.map((constraint) => domainsOf(constraint, hard, pod, snapshot));
  return ({ node }) => {
    for (const { constraint, selfMatches, counts, least } of all) {
      const domain = node.metadata.labels?.[constraint.topologyKey];
      if (domain === undefined) return rejected(false, `${mismatch} (missing required label)`);
      const skew = (counts.get(domain) ?? 0) + Number(selfMatches) - least;
      if (skew > constraint.maxSkew) return rejected(true, mismatch);
    }
    return undefined;
  };
};
