/** Which of the nodes that fit is best. Higher is better; equal scores go to the first by name. */

import type { PodAffinityTerm } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { isTolerated, matchesTerm } from "@keelson/workloads";
import { controllerOfObject } from "../ownership/owner-reference.ts";
import { termMatches } from "./filters/pod-affinity.ts";
import { countMatching, isEligible, spreadSelector } from "./filters/topology-spread.ts";
import { type NodeInfo, podInfo } from "./view/node-info.ts";
import type { Snapshot } from "./view/snapshot.ts";

type Score = (info: NodeInfo) => number;

interface ScorePlugin {
  readonly weight: number;
  readonly prepare: (pod: PodObject, snapshot: Snapshot, nodes: readonly NodeInfo[]) => Score;
}

const top = 100;

/** Shares of `top`, the largest value being all of it. */
function proportional(nodes: readonly NodeInfo[], raw: Score, reverse = false): Score {
  const values = new Map(nodes.map((info) => [info, raw(info)]));
  const most = Math.max(0, ...values.values());
  return (info) => {
    const share = most === 0 ? 0 : Math.floor((top * (values.get(info) ?? 0)) / most);
    return reverse ? top - share : share;
  };
}

/** Between the least and the most. */
function stretched(nodes: readonly NodeInfo[], raw: Score): Score {
  const values = new Map(nodes.map((info) => [info, raw(info)]));
  const least = Math.min(...values.values());
  const most = Math.max(...values.values());
  return (info) =>
    most === least ? 0 : Math.floor((top * ((values.get(info) ?? 0) - least)) / (most - least));
}

const taints: ScorePlugin = {
  weight: 3,
  prepare: (pod, _snapshot, nodes) =>
    proportional(
      nodes,
      ({ node }) =>
        (node.spec.taints ?? []).filter(
          (taint) => taint.effect === "PreferNoSchedule" && !isTolerated(taint, pod.spec.tolerations),
        ).length,
      true,
    ),
};

const nodeAffinity: ScorePlugin = {
  weight: 2,
  prepare: (pod, _snapshot, nodes) => {
    const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    return proportional(nodes, ({ node }) =>
      preferred.reduce(
        (sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0),
        0,
      ),
    );
  },
};

/** Free CPU and memory after the pod, as shares of what the node has. */
const leastAllocated: ScorePlugin = {
  weight: 1,
  prepare: (pod) => {
    const { scoring } = podInfo(pod);
    return (info) => {
      const shares = ["cpu", "memory"]
        .filter((name) => (info.allocatable.get(name) ?? 0) > 0)
        .map((name) => {
          const total = info.allocatable.get(name) ?? 0;
          const used = (info.scoring.get(name) ?? 0) + (scoring.get(name) ?? 0);
          return used > total ? 0 : Math.floor(((total - used) * top) / total);
        });
      return shares.length === 0
        ? 0
        : Math.floor(shares.reduce((sum, share) => sum + share, 0) / shares.length);
    };
  },
};

/** CPU and memory used to the same degree. */
const balanced: ScorePlugin = {
  weight: 1,
  prepare: (pod) => {
    const { requests } = podInfo(pod);
    return (info) => {
      const used = ["cpu", "memory"].map((name) => {
        const total = info.allocatable.get(name) ?? 0;
        const sum = (info.requested.get(name) ?? 0) + (requests.get(name) ?? 0);
        return total === 0 ? 0 : Math.min(1, sum / total);
      });
      return Math.floor((1 - Math.abs((used[0] ?? 0) - (used[1] ?? 0)) / 2) * top);
    };
  },
};

/** Fewer pods of the same kind nearby: by the pod's soft constraints, or by its controller where it has none. */
const spread: ScorePlugin = {
  weight: 2,
  prepare: (pod, snapshot, nodes) => {
    const soft = (pod.spec.topologySpreadConstraints ?? []).filter(
      ({ whenUnsatisfiable }) => whenUnsatisfiable === "ScheduleAnyway",
    );
    const crowd =
      (pod.spec.topologySpreadConstraints ?? []).length > 0
        ? constraintCrowd(pod, snapshot, soft)
        : siblingCrowd(pod, snapshot);
    return crowd ? inverse(nodes, crowd) : () => 0;
  },
};

function inverse(nodes: readonly NodeInfo[], crowd: Score): Score {
  const values = new Map(nodes.map((info) => [info, crowd(info)]));
  const most = Math.max(...values.values());
  const least = Math.min(...values.values());
  return (info) => (most === 0 ? top : Math.floor((top * (most + least - (values.get(info) ?? 0))) / most));
}

function constraintCrowd(
  pod: PodObject,
  snapshot: Snapshot,
  soft: NonNullable<PodObject["spec"]["topologySpreadConstraints"]>,
): Score | undefined {
  if (soft.length === 0) return undefined;
  const counted = soft.map((constraint) => {
    const selector = spreadSelector(constraint, pod);
    const counts = new Map<string, number>();
    for (const info of snapshot.nodes) {
      const domain = info.node.metadata.labels?.[constraint.topologyKey];
      if (domain === undefined || !isEligible(constraint, pod, info)) continue;
      const count = countMatching(info, selector, pod.metadata.namespace);
      counts.set(domain, (counts.get(domain) ?? 0) + count);
    }
    return { constraint, counts, weight: Math.log(counts.size + 2) };
  });
  return ({ node }) =>
    counted.reduce((sum, { constraint, counts, weight }) => {
      const domain = node.metadata.labels?.[constraint.topologyKey];
      return domain === undefined ? sum : sum + (counts.get(domain) ?? 0) * weight + (constraint.maxSkew - 1);
    }, 0);
}

const zone = "topology.kubernetes.io/zone";

function siblingCrowd(pod: PodObject, snapshot: Snapshot): Score | undefined {
  const owner = controllerOfObject(pod)?.uid;
  if (owner === undefined) return undefined;
  const siblings = new Map<NodeInfo, number>();
  const zones = new Map<string, number>();
  for (const info of snapshot.nodes) {
    const count = info.pods.filter(
      ({ pod: other }) =>
        controllerOfObject(other)?.uid === owner && other.metadata.deletionTimestamp === undefined,
    ).length;
    siblings.set(info, count);
    const where = info.node.metadata.labels?.[zone];
    if (where !== undefined) zones.set(where, (zones.get(where) ?? 0) + count);
  }
  const nodeWeight = Math.log(snapshot.nodes.length + 2);
  const zoneWeight = Math.log(zones.size + 2);
  return (info) =>
    (siblings.get(info) ?? 0) * nodeWeight +
    (zones.get(info.node.metadata.labels?.[zone] ?? "") ?? 0) * zoneWeight;
}

/** Closer to pods that are preferred near, and away from those that are not; what others prefer counts too. */
const podAffinity: ScorePlugin = {
  weight: 2,
  prepare: (pod, snapshot, nodes) => {
    const pairs = new Map<string, number>();
    const count = (term: PodAffinityTerm, info: NodeInfo, weight: number) => {
      const value = info.node.metadata.labels?.[term.topologyKey];
      if (value === undefined) return;
      const pair = `${term.topologyKey}=${value}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + weight);
    };
    for (const info of snapshot.nodes) {
      for (const { pod: other } of info.pods) {
        for (const [one, another, isOurs] of [
          [pod, other, true],
          [other, pod, false],
        ] as const) {
          const { affinity } = one.spec;
          for (const { weight, podAffinityTerm } of affinity?.podAffinity
            ?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
            if (termMatches(podAffinityTerm, one, another, snapshot)) count(podAffinityTerm, info, weight);
          }
          for (const { weight, podAffinityTerm } of affinity?.podAntiAffinity
            ?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
            if (termMatches(podAffinityTerm, one, another, snapshot)) count(podAffinityTerm, info, -weight);
          }
          if (isOurs) continue;
          for (const term of affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
            if (termMatches(term, one, another, snapshot)) count(term, info, 1);
          }
        }
      }
    }
    if (pairs.size === 0) return () => 0;
    return stretched(nodes, ({ node }) =>
      Object.entries(node.metadata.labels ?? {}).reduce(
        (sum, [key, value]) => sum + (pairs.get(`${key}=${value}`) ?? 0),
        0,
      ),
    );
  },
};

const plugins: readonly ScorePlugin[] = [taints, nodeAffinity, leastAllocated, balanced, spread, podAffinity];

/** The best of the nodes; the first by name among equals. */
export function bestNode(
  pod: PodObject,
  snapshot: Snapshot,
  nodes: readonly NodeInfo[],
): NodeInfo | undefined {
  if (nodes.length <= 1) return nodes[0];
  const scores = plugins.map(({ weight, prepare }) => ({ weight, score: prepare(pod, snapshot, nodes) }));
  let best: { info: NodeInfo; total: number } | undefined;
  for (const info of nodes) {
    const total = scores.reduce((sum, { weight, score }) => sum + weight * score(info), 0);
    if (!best || total > best.total) best = { info, total };
  }
  return best?.info;
}
