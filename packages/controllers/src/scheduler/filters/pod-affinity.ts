/** Filter by what other pods are near: affinity and anti-affinity, of this pod and of those that are there. */
import { labelSelectorFrom, matchesLabels } from "@keelson/core";
import type { PodAffinityTerm } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { type FilterPlugin, rejected } from "../view/filter-plugin.ts";
import type { NodeInfo } from "../view/node-info.ts";
import type { Snapshot } from "../view/snapshot.ts";

/** Whether `other` is meant by a term of `pod`. */
export function termMatches(
  term: PodAffinityTerm,
  pod: PodObject,
  other: PodObject,
  snapshot: Snapshot,
): boolean {
  const namespace = other.metadata.namespace ?? "";
  const named = term.namespaces ?? [];
  const isOwnOnly = named.length === 0 && term.namespaceSelector === undefined;
  const inNamespace = isOwnOnly
    ? namespace === pod.metadata.namespace
    : named.includes(namespace) ||
      (term.namespaceSelector !== undefined &&
        matchesLabels(labelSelectorFrom(term.namespaceSelector), snapshot.namespaceLabels(namespace)));
  return inNamespace && matchesLabels(labelSelectorFrom(term.labelSelector), other.metadata.labels);
}

/** Counts by topology pair, `key=value`. */
type Pairs = Map<string, number>;

function pairOf(key: string, { node }: NodeInfo): string | undefined {
  const value = node.metadata.labels?.[key];
  return value === undefined ? undefined : `${key}=${value}`;
}

function count(pairs: Pairs, pair: string | undefined): void {
  if (pair !== undefined) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
}

function requiredTerms(kind: "podAffinity" | "podAntiAffinity", pod: PodObject): PodAffinityTerm[] {
  return pod.spec.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

export const podAffinity: FilterPlugin = (pod, snapshot) => {
  const affinity = requiredTerms("podAffinity", pod);
  const antiAffinity = requiredTerms("podAntiAffinity", pod);
  const near: Pairs = new Map();
  const far: Pairs = new Map();
  const repelled: Pairs = new Map();
  for (const info of snapshot.nodes) {
    for (const { pod: other } of info.pods) {
      if (affinity.length > 0 && affinity.every((term) => termMatches(term, pod, other, snapshot))) {
        for (const { topologyKey } of affinity) count(near, pairOf(topologyKey, info));
      }
      for (const term of antiAffinity) {
        if (termMatches(term, pod, other, snapshot)) count(far, pairOf(term.topologyKey, info));
      }
      for (const term of requiredTerms("podAntiAffinity", other)) {
        if (termMatches(term, other, pod, snapshot)) count(repelled, pairOf(term.topologyKey, info));
      }
    }
  }
  if (affinity.length === 0 && far.size === 0 && repelled.size === 0) return undefined;
  // The first of a group that wants to be together may be anywhere.
  const isFirst = near.size === 0 && affinity.every((term) => termMatches(term, pod, pod, snapshot));
  return (info) => {
    for (const { topologyKey } of affinity) {
      const pair = pairOf(topologyKey, info);
      if (pair === undefined || (!near.has(pair) && !isFirst)) {
        return rejected(false, "node(s) didn't match pod affinity rules");
      }
    }
    if (antiAffinity.some(({ topologyKey }) => far.has(pairOf(topologyKey, info) ?? ""))) {
      return rejected(true, "node(s) didn't match pod anti-affinity rules");
    }
    for (const [key, value] of Object.entries(info.node.metadata.labels ?? {})) {
      if (repelled.has(`${key}=${value}`)) {
        return rejected(true, "node(s) didn't satisfy existing pods anti-affinity rules");
      }
    }
    return undefined;
  };
};
