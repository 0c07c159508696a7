/** What drains must leave alone: the primary until it has handed over, and all replicas but one. */
import type { Desired } from "keelson";
import type { PodDisruptionBudget } from "keelson/kinds";
import { labels } from "../api/names.ts";
import { adoptable, type DatabaseName, objectNames, selectorLabels } from "./names.ts";

/** A primary without replicas has nobody to hand over to, so a drain may take it. */
export function primaryBudget(database: DatabaseName, replicas: number): Desired<typeof PodDisruptionBudget> {
  return {
    metadata: {
      name: objectNames(database).primaryBudget,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      minAvailable: replicas > 0 ? 1 : 0,
      selector: { matchLabels: { ...selectorLabels(database), [labels.role]: "primary" } },
    },
  };
}

/**
 * A whole number rather than `maxUnavailable`: that is counted from the StatefulSet's replicas, of which the primary is
 * one, so that a replica too few would always seem to be missing, and no drain would ever end.
 */
export function replicaBudget(database: DatabaseName, replicas: number): Desired<typeof PodDisruptionBudget> {
  return {
    metadata: {
      name: objectNames(database).replicaBudget,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      minAvailable: Math.max(0, replicas - 1),
      selector: { matchLabels: { ...selectorLabels(database), [labels.role]: "replica" } },
    },
  };
}
