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
  "another voter loses its data while one is to leave": {
    beginning: "three members",
    seed: 600003467,
    steps: [
      { atMs: 0, do: "API: slow", forMs: 20000, with: { ms: 2000 } },
      { atMs: 100, do: "edit: size", with: { size: 1 } },
      { atMs: 700, do: "volume: destroyed", with: { which: 0.542, how: "wiped" } },
    ],
  },
};
