/** Scenarios in which exploring once found a failure after claims, volumes or owners were taken away. */
import type { Plan } from "@keelson/testing";

export const foundClaims: Readonly<Record<string, Plan>> = {
  "the budget has no owner when the cluster is deleted in the foreground": {
    beginning: "one member",
    seed: 650003120,
    steps: [
      { atMs: 1200, do: "pod: deleted", with: { which: 0.35, force: true } },
      { atMs: 1700, do: "by hand: owner references are removed", with: { which: 0.748 } },
      { atMs: 3600, do: "edit: deleted", with: { propagation: "Foreground", finalBackup: false } },
    ],
  },
};
