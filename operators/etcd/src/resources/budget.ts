/** How many voters a drain must leave running. */
import type { Desired } from "keelson";
import type { PodDisruptionBudget } from "keelson/kinds";
import { majority } from "../engine/quorum.ts";
import { type ClusterName, selectorLabels, voterLabels } from "./names.ts";

/**
 * A whole number rather than `maxUnavailable`, which would shrink along with the members that are left. While the
 * cluster grows or shrinks the larger of the two sizes counts.
 */
export function budgetFor(
  cluster: ClusterName,
  options: { readonly size: number; readonly voters: number },
): Desired<typeof PodDisruptionBudget> {
  return {
    metadata: { name: cluster.name, labels: selectorLabels(cluster) },
    spec: {
      minAvailable: majority(Math.max(options.size, options.voters)),
      selector: { matchLabels: voterLabels(cluster) },
    },
  };
}
