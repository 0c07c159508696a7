/** Scenarios in which exploring once found a failure after a cluster was deleted, or made again. */
import type { Plan } from "@keelson/testing";

export const foundDeletion: Readonly<Record<string, Plan>> = {
  "all volumes are full when the cluster is deleted with a final backup": {
    beginning: "three members on volumes that grow",
    seed: 20,
    managers: 2,
    steps: [
      { atMs: 0, do: "volume: full", forMs: 85600, with: { which: 0.695 } },
      {
        atMs: 0,
        do: "by hand: a label is changed or removed",
        with: { which: 0.223, label: 0.565, value: null },
      },
      { atMs: 0, do: "volume: full", forMs: 21800, with: { which: 0.115 } },
      { atMs: 0, do: "volume: full", forMs: 55600, with: { which: 0.839 } },
      { atMs: 0, do: "edit: deleted and made again", with: { propagation: "Background", finalBackup: true } },
      { atMs: 0, do: "operator: killed at a call to the application", with: { in: 3, when: "before" } },
    ],
  },
  "the cluster is deleted while a node is without power": {
    beginning: "three members on volumes that grow",
    seed: 22,
    steps: [
      { atMs: 8000, do: "node: loses power", forMs: 506500, with: { which: 0.832 } },
      { atMs: 15700, do: "by hand: a child is deleted", with: { which: 0.107 } },
      { atMs: 45600, do: "by hand: an annotation is removed", with: { which: 0.933, note: 0.743 } },
      {
        atMs: 81600,
        do: "line: between two pods",
        forMs: 33200,
        with: { how: "dropped", which: 0.734, ms: 3000, other: 0.749 },
      },
      { atMs: 163500, do: "edit: deleted", with: { propagation: "Foreground", finalBackup: true } },
    ],
  },
  "the cluster is orphaned, deleted and made again while a volume is full": {
    beginning: "three members on a node pool",
    seed: 1037,
    managers: 2,
    steps: [
      { atMs: 2200, do: "edit: deleted and made again", with: { propagation: "Orphan", finalBackup: true } },
      { atMs: 3000, do: "pod: deleted", with: { which: 0.716, force: false } },
      {
        atMs: 3400,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", finalBackup: false },
      },
      { atMs: 3600, do: "edit: hibernated", forMs: 1300 },
      { atMs: 4600, do: "volume: full", forMs: 114600, with: { which: 0.28 } },
      { atMs: 5700, do: "volume: destroyed", with: { which: 0.899, how: "wiped" } },
      { atMs: 5900, do: "node: the pool is relabelled" },
    ],
  },
  "a cluster without a quorum is deleted with a final backup": {
    beginning: "three members",
    seed: 700056,
    steps: [
      { atMs: 15700, do: "edit: size", with: { size: 1 } },
      { atMs: 22900, do: "pod: deleted", with: { which: 0.295, force: false } },
      { atMs: 39600, do: "backup: the store does not answer", forMs: 33300 },
      { atMs: 44800, do: "etcd: a voter is added by hand", forMs: 62100 },
      {
        atMs: 96800,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: true },
      },
      { atMs: 110100, do: "edit: changed and taken back", with: { size: 5, afterMs: 5000 } },
      { atMs: 122400, do: "volume: full", forMs: 41100, with: { which: 0.32 } },
      { atMs: 142200, do: "edit: size", with: { size: 3 } },
    ],
  },
  "a cluster is made again with a version that does not run": {
    beginning: "three members of 3.5",
    seed: 91000030,
    steps: [
      { atMs: 0, do: "edit: version", with: { version: "3.6.99" } },
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", finalBackup: true },
      },
    ],
  },
  "a cluster is made again with a node pool that does not exist": {
    beginning: "one member",
    seed: 95000081,
    steps: [
      { atMs: 0, do: "edit: a node pool that does not exist", forMs: 1700 },
      {
        atMs: 1600,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: false },
      },
    ],
  },
  "a cluster is orphaned and made again, and its pods lose their slot: they were taken for missing and could not be made":
    {
      beginning: "three members",
      seed: 96000081,
      steps: [
        { atMs: 9800, do: "operator: stopped for a while", forMs: 105700 },
        { atMs: 12800, do: "edit: settings", with: { snapshotCount: 10000 } },
        {
          atMs: 13900,
          do: "edit: deleted and made again",
          with: { propagation: "Orphan", finalBackup: false },
        },
        {
          atMs: 44100,
          do: "by hand: a label is removed from all pods",
          with: { label: 0.946, resource: "pods" },
        },
      ],
    },
  "a cluster without data is deleted with a final backup: nobody said how it can go": {
    beginning: "one member",
    seed: 96000438,
    steps: [
      { atMs: 2700, do: "volume: destroyed", with: { which: 0.587, how: "claim deleted" } },
      {
        atMs: 16500,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: true },
      },
    ],
  },
  "a kept claim lost its label before the cluster was made again: its member was removed, and its data": {
    beginning: "three members of 3.5",
    seed: 99_000_996,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", finalBackup: false },
      },
      {
        atMs: 400,
        do: "by hand: a label is changed or removed",
        with: { which: 0.974, label: 0.363, value: null },
      },
    ],
  },
  "a kept claim got another slot before the cluster was made again: it was marked for ever": {
    beginning: "three members with a small quota",
    seed: 99_000_782,
    steps: [
      {
        atMs: 800,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", finalBackup: false },
      },
      { atMs: 1_300, do: "operator: stopped for a while", forMs: 1_800 },
      {
        atMs: 1_300,
        do: "by hand: a label is changed or removed",
        with: { which: 0.32, label: 0.96, value: "other" },
      },
      { atMs: 5_600, do: "pod: process hangs", forMs: 7_300, with: { which: 0.761 } },
    ],
  },
  "all kept claims lost a label before the cluster was made again": {
    beginning: "three members",
    seed: 99_000_997,
    steps: [
      {
        atMs: 0,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", finalBackup: false },
      },
      {
        atMs: 400,
        do: "by hand: a label is removed from all pods",
        with: { label: 0.363, resource: "persistentvolumeclaims" },
      },
    ],
  },
  "the claim with the backups is deleted before a final backup": {
    beginning: "one member",
    seed: 200000310,
    steps: [
      { atMs: 15900, do: "edit: backups are asked for", with: { count: 3 } },
      { atMs: 16400, do: "volume: destroyed", with: { which: 0.543, how: "claim deleted" } },
      {
        atMs: 32100,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: true },
      },
    ],
  },
  "a cluster that lost a voter is made again while a learner joins": {
    beginning: "two members",
    seed: 220000103,
    steps: [
      { atMs: 7100, do: "edit: size", with: { size: 5 } },
      { atMs: 8300, do: "volume: destroyed", with: { which: 0.005, how: "claim deleted" } },
      {
        atMs: 20000,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", finalBackup: false },
      },
    ],
  },
  "a cluster that no node suits is deleted with a final backup": {
    beginning: "three members with TLS and a password",
    seed: 300001969,
    steps: [
      { atMs: 6000, do: "edit: a node pool that does not exist", forMs: 27800 },
      {
        atMs: 33500,
        do: "edit: deleted and made again",
        with: { propagation: "Foreground", finalBackup: true },
      },
      {
        atMs: 45000,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: false },
      },
    ],
  },
  "a cluster is made again before anybody saw that its members agreed on a new minor": {
    beginning: "two members",
    seed: 810002218,
    steps: [
      { atMs: 15900, do: "edit: version", with: { version: "3.7.3" } },
      {
        atMs: 34400,
        do: "edit: deleted and made again",
        with: { propagation: "Background", finalBackup: false },
      },
    ],
  },
  "a cluster is orphaned with a trial, made again and deleted at once: the trial was left": {
    beginning: "three members on a node pool",
    seed: 1300015079,
    steps: [
      { atMs: 36500, do: "edit: version", with: { version: "3.6.99" } },
      { atMs: 40800, do: "edit: hibernated", forMs: 1000 },
      {
        atMs: 40800,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", finalBackup: false },
      },
      { atMs: 42000, do: "edit: deleted", with: { propagation: "Background", finalBackup: false } },
    ],
  },
  "all claims and the cluster are deleted: a person was told to remove a final backup that nobody asked for":
    {
      beginning: "three members",
      seed: 1350012708,
      steps: [
        { atMs: 0, do: "volume: claims are deleted while their pods run", with: { which: 0.773, all: true } },
        { atMs: 0, do: "edit: deleted", with: { propagation: "Foreground", finalBackup: false } },
        { atMs: 2000, do: "pod: deleted", with: { which: 0.3, force: false } },
      ],
    },
  "a cluster is orphaned, made again and deleted before it adopts its budget: that was left behind": {
    beginning: "three members",
    seed: 1_700_000_698,
    steps: [
      {
        atMs: 5900,
        do: "line: operator to a pod",
        forMs: 1800,
        with: { how: "dropped", which: 0.64, all: true },
      },
      { atMs: 5900, do: "edit: deleted and made again", with: { propagation: "Orphan", finalBackup: false } },
      { atMs: 7600, do: "edit: deleted", with: { propagation: "Background", finalBackup: true } },
    ],
  },
  "a member lost its labels when it was orphaned: the person whom the status told to hand it over did not find it":
    {
      beginning: "three members on a node pool",
      seed: 2_700_001_667,
      steps: [
        {
          atMs: 0,
          do: "by hand: a label is changed or removed",
          with: { which: 0.205, label: 0.78, value: "other" },
        },
        { atMs: 0, do: "edit: deleted and made again", with: { propagation: "Orphan", finalBackup: false } },
        {
          atMs: 0,
          do: "by hand: a label is removed from all pods",
          with: { label: 0.443, resource: "pods" },
        },
      ],
    },
  "the only claim and its pod are deleted while the cluster is orphaned and made again": {
    beginning: "one member",
    seed: 2850011244,
    steps: [
      { atMs: 3700, do: "application: a call fails", with: { in: 3, how: "lose-answer" } },
      { atMs: 3800, do: "etcd: a member is removed by hand", with: { which: 0.187 } },
      { atMs: 5100, do: "pod: deleted", with: { which: 0.749, force: false } },
      { atMs: 6900, do: "edit: a node pool that does not exist", forMs: 1300 },
      {
        atMs: 8700,
        do: "volume: claims are deleted while their pods run",
        with: { which: 0.402, all: false },
      },
      { atMs: 8800, do: "edit: deleted and made again", with: { propagation: "Orphan", finalBackup: false } },
      { atMs: 9400, do: "pod: deleted", with: { which: 0.863, force: false } },
    ],
  },
  "the only claim and its pod are deleted while nobody looks after the orphan": {
    beginning: "one member",
    seed: 3000001433,
    steps: [
      { atMs: 9200, do: "edit: deleted and made again", with: { propagation: "Orphan", finalBackup: true } },
      { atMs: 9200, do: "volume: destroyed", with: { which: 0.214, how: "claim deleted" } },
    ],
  },
};
