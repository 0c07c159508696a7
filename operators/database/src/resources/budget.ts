/** How many instances a drain may take at once. */
import type { Desired } from "keelson";
import type { PodDisruptionBudget } from "keelson/kinds";
import { type DatabaseName, selectorLabels } from "./names.ts";

/** One at a time. The primary that is drained hands over by itself before it ends. */
export function budgetFor(database: DatabaseName, instances: number): Desired<typeof PodDisruptionBudget> {
  return {
    metadata: { name: database.name, labels: selectorLabels(database) },
    spec: {
      minAvailable: Math.max(instances > 1 ? 1 : 0, instances - 1),
      selector: { matchLabels: selectorLabels(database) },
    },
  };
}
