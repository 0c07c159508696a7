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
  "the status is wiped in the middle of an upgrade over several minors": {
    beginning: "three members of 3.5",
    seed: 42,
    steps: [
      { atMs: 6400, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 29900, do: "by hand: the status is wiped" },
      { atMs: 44500, do: "volume: destroyed", with: { which: 0.622, how: "wiped" } },
      { atMs: 52500, do: "backup: the store does not answer", forMs: 8300 },
      { atMs: 65000, do: "operator: killed" },
    ],
  },
  "a volume is wiped while its node pool is relabelled": {
    beginning: "three members on a node pool",
    seed: 1023,
    steps: [
      { atMs: 100, do: "node: the pool is relabelled" },
      { atMs: 500, do: "node: loses power", forMs: 424700, with: { which: 0.855 } },
      { atMs: 700, do: "volume: destroyed", with: { which: 0.23, how: "wiped" } },
      { atMs: 900, do: "edit: size", with: { size: 2 } },
      { atMs: 900, do: "edit: changed and taken back", with: { size: 5, afterMs: 5000 } },
      { atMs: 1000, do: "volume: claims stay Pending", forMs: 20300 },
    ],
  },
  "the claim of the leader is deleted": {
    beginning: "three members on a node pool",
    seed: 1089,
    steps: [
      { atMs: 18200, do: "time: the wall clock jumps", with: { minutes: -1 } },
      { atMs: 20000, do: "operator: killed at a call to the application", with: { in: 2, when: "after" } },
      { atMs: 67900, do: "volume: destroyed", with: { which: 0.235, how: "claim deleted" } },
      { atMs: 94000, do: "by hand: the status is wiped" },
      { atMs: 94300, do: "API: writes fail", with: { how: "refused", times: 5 } },
      { atMs: 94500, do: "application: a call fails", with: { in: 4, how: "lose-answer" } },
    ],
  },
  "data is corrupt under a new configuration: one policy took the member back, and another forward again": {
    beginning: "three members with TLS and a password",
    seed: 95000148,
    steps: [
      { atMs: 0, do: "edit: quota", with: { quotaBytes: 8000000 } },
      { atMs: 0, do: "volume: destroyed", with: { which: 0.043, how: "corrupt" } },
    ],
  },
  "data is corrupt after every member has a new template: it was rolled back to nodes that are gone": {
    beginning: "three members with TLS and a password",
    seed: 96000115,
    steps: [
      { atMs: 400, do: "node: the pool is relabelled" },
      { atMs: 2900, do: "etcd: the leader changes", with: { which: 0.884 } },
      {
        atMs: 37800,
        do: "line: operator to a pod",
        forMs: 146900,
        with: { how: "cut", which: 0.843, ms: 30000, all: true },
      },
      { atMs: 48000, do: "volume: destroyed", with: { which: 0.352, how: "corrupt" } },
    ],
  },
  "the only member's data is corrupt after an upgrade: nobody said that it is lost": {
    beginning: "one member",
    seed: 96000279,
    steps: [
      { atMs: 6600, do: "API: outage", forMs: 32900 },
      { atMs: 21000, do: "edit: version", with: { version: "3.7.3" } },
      { atMs: 46600, do: "volume: destroyed", with: { which: 0.165, how: "corrupt" } },
    ],
  },
  "the clock is set back by an hour after a majority was lost, and a survivor is proposed all the same": {
    beginning: "two members",
    seed: 99_000_397,
    steps: [
      { atMs: 0, do: "volume: destroyed", with: { which: 0.975, how: "corrupt" } },
      { atMs: 2_000, do: "time: the wall clock jumps", with: { minutes: -60 } },
    ],
  },
  "the only claim is deleted, and the status is wiped": {
    beginning: "one member",
    seed: 200000110,
    steps: [
      { atMs: 0, do: "volume: destroyed", with: { which: 0.237, how: "claim deleted" } },
      { atMs: 1000, do: "by hand: the status is wiped" },
    ],
  },
  "a claim is deleted when another member is removed by hand": {
    beginning: "three members on a node pool",
    seed: 99500220,
    steps: [
      { atMs: 0, do: "volume: destroyed", with: { which: 0.953, how: "claim deleted" } },
      { atMs: 0, do: "etcd: a member is removed by hand", with: { which: 0.632 } },
    ],
  },
  "a volume is wiped when another member is removed by hand": {
    beginning: "three members with TLS and a password",
    seed: 200000576,
    steps: [
      { atMs: 54500, do: "volume: destroyed", with: { which: 0.648, how: "wiped" } },
      { atMs: 54500, do: "etcd: a member is removed by hand", with: { which: 0.854 } },
    ],
  },
  "the only volume is corrupt when the nodes are relabelled": {
    beginning: "one member",
    seed: 200000515,
    steps: [
      { atMs: 0, do: "node: the pool is relabelled" },
      { atMs: 0, do: "volume: destroyed", with: { which: 0.51, how: "corrupt" } },
    ],
  },
  "the volume of the last member is corrupt while the other one leaves": {
    beginning: "two members",
    seed: 200001148,
    steps: [
      { atMs: 100, do: "edit: size", with: { size: 1 } },
      { atMs: 300, do: "API: writes fail", with: { how: "refused", times: 5 } },
      { atMs: 600, do: "API: slow", forMs: 42400, with: { ms: 2000 } },
      { atMs: 800, do: "volume: destroyed", with: { which: 0.738, how: "corrupt" } },
    ],
  },
  "the only voter loses its volume while a learner joins": {
    beginning: "one member",
    seed: 5,
    steps: [
      { atMs: 0, do: "edit: size", with: { size: 3 } },
      { atMs: 900, do: "volume: destroyed", with: { which: 0.1, how: "claim deleted" } },
    ],
  },
  "the leader loses its volume while the operator does not reach it": {
    beginning: "three members with a small quota",
    seed: 220000839,
    steps: [
      {
        atMs: 11800,
        do: "line: operator to a pod",
        forMs: 151600,
        with: { how: "refused", which: 0.079, ms: 300, all: false },
      },
      { atMs: 22800, do: "volume: destroyed", with: { which: 0.197, how: "claim deleted" } },
    ],
  },
  "all claims are deleted, and the cluster is to hibernate": {
    beginning: "three members",
    seed: 12,
    steps: [
      { atMs: 0, do: "volume: claims are deleted while their pods run", with: { which: 0, all: true } },
      { atMs: 200, do: "edit: hibernated", forMs: 90000 },
    ],
  },
  "a pod that could not run begins to, while the operator waits for others: it was replaced then": {
    beginning: "three members with TLS and a password",
    seed: 900003359,
    steps: [
      { atMs: 7200, do: "pod: deleted", with: { which: 0.305, force: false } },
      { atMs: 24600, do: "volume: full", forMs: 97000, with: { which: 0.038 } },
      { atMs: 71600, do: "volume: destroyed", with: { which: 0.646, how: "claim deleted" } },
      { atMs: 75000, do: "edit: quota", with: { quotaBytes: 8000000 } },
      { atMs: 105800, do: "pod: deleted", with: { which: 0.696, force: false } },
      { atMs: 122900, do: "edit: storage", with: { size: "1Gi" } },
    ],
  },
  "all claims are deleted while the members of a deleted cluster are being stopped: one that runs keeps the data":
    {
      beginning: "two members",
      seed: 2400000271,
      steps: [
        {
          atMs: 0,
          do: "edit: deleted and made again",
          with: { propagation: "Foreground", finalBackup: false },
        },
        {
          atMs: 0,
          do: "volume: claims are deleted while their pods run",
          with: { which: 0.738, all: true },
        },
      ],
    },
};
