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
  "all claims are deleted before the cluster is deleted and made again": {
    beginning: "three members with a small quota",
    seed: 650003124,
    steps: [
      { atMs: 11300, do: "by hand: the status is wiped" },
      { atMs: 19300, do: "edit: size", with: { size: 5 } },
      {
        atMs: 21200,
        do: "volume: claims are deleted while their pods run",
        with: { which: 0.703, all: true },
      },
      {
        atMs: 23200,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: false },
      },
      { atMs: 24400, do: "edit: storage", with: { size: "1Gi" } },
      { atMs: 27300, do: "volume: destroyed", with: { which: 0.992, how: "claim deleted" } },
      { atMs: 27900, do: "etcd: the leader changes", with: { which: 0.719 } },
      { atMs: 29500, do: "edit: size", with: { size: 2 } },
    ],
  },
};
