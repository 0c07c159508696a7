/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";

export const found: Readonly<Record<string, Plan>> = {
  "PostgreSQL refuses a setting, and the status names the field that it stands in": {
    beginning: "three instances",
    seed: 103,
    steps: [{ atMs: 0, do: "edit: a setting that PostgreSQL refuses", forMs: 159_000 }],
  },
  "a setting is changed, and it is not Ready before every instance knows it": {
    beginning: "three instances",
    seed: 5_020,
    steps: [
      { atMs: 0, do: "agents: the API server is gone", forMs: 20_000, with: { how: "dropped" } },
      { atMs: 5_000, do: "edit: a setting that is reloaded", with: { parameters: { work_mem: "8MB" } } },
    ],
  },
  "an upgrade whose commits are not safe yet says what it waits for": {
    beginning: "two instances",
    seed: 950001914,
    steps: [
      { atMs: 2100, do: "edit: a newer major version", with: { version: "17.1" } },
      { atMs: 22200, do: "agents: the API server is gone", forMs: 286800, with: { how: "refused" } },
    ],
  },
  "a pod that could not be placed is replaced when the spec is corrected": {
    beginning: "three instances with backups",
    seed: 149,
    steps: [{ atMs: 0, do: "edit: nodes that do not exist", forMs: 1_300 }],
  },
  "the only volume is wiped, and the status says what a person can do": {
    beginning: "one instance",
    seed: 207,
    steps: [{ atMs: 0, do: "volume: destroyed", with: { which: 0.163, how: "wiped" } }],
  },
  "the data of the primary is spoiled while it is upgraded": {
    beginning: "three instances, each must acknowledge",
    seed: 541,
    steps: [
      { atMs: 200, do: "edit: a newer major version", with: { version: "17.1" } },
      { atMs: 8300, do: "volume: destroyed", with: { which: 0.099, how: "corrupt" } },
    ],
  },
  "the Lease is deleted, and the volumes know what it said": {
    beginning: "three instances",
    seed: 611,
    steps: [
      { atMs: 0, do: "edit: a switchover is asked for", with: { value: "orders-1" } },
      { atMs: 60_000, do: "by hand: the Lease is deleted" },
    ],
  },
  "the Lease and every pod are deleted, and the epoch in the status stays": {
    beginning: "two instances",
    seed: 95_000_175,
    steps: [
      { atMs: 0, do: "by hand: the Lease is deleted" },
      { atMs: 0, do: "pod: all deleted" },
    ],
  },
  "instances that leave do not make it Ready while commits wait for one that stays": {
    beginning: "three instances, each must acknowledge",
    seed: 98_000_571,
    steps: [
      { atMs: 0, do: "agents: nobody reaches one", forMs: 98_700, with: { which: 0.775 } },
      { atMs: 0, do: "edit: changed and taken back", with: { instances: 5, afterMs: 40_000 } },
    ],
  },
  "a Database that was made again is restored to a backup of the one before": {
    beginning: "three instances with backups",
    seed: 613,
    steps: [
      { atMs: 0, do: "edit: a backup is asked for", with: { name: "asked" } },
      { atMs: 30_000, do: "edit: deleted with its dependents left alone, and made again" },
      { atMs: 150_000, do: "edit: restored in place to the oldest backup", with: { id: "1" } },
      { atMs: 210_000, do: "edit: a setting that is reloaded", with: { parameters: { work_mem: "8MB" } } },
    ],
  },
  "the Lease and the status are lost while a newer version is asked for, and instances run what wrote their data":
    {
      beginning: "three instances",
      seed: 700,
      steps: [
        { atMs: 0, do: "edit: a newer major version whose rehearsal fails", forMs: 90_000 },
        { atMs: 20_000, do: "operator: stopped for a while", forMs: 5_000 },
        { atMs: 21_000, do: "by hand: the Lease is deleted" },
        { atMs: 21_000, do: "by hand: the status is wiped" },
        { atMs: 22_000, do: "operator: killed" },
      ],
    },
  "the Lease is deleted while agents do not reach it, and the primary goes on": {
    beginning: "three instances, each must acknowledge",
    seed: 211_000_122,
    steps: [
      { atMs: 4_900, do: "line: a pod from everyone", forMs: 32_300, with: { which: 0.273, how: "dropped" } },
      { atMs: 8_400, do: "agents: the API server is gone", forMs: 98_400, with: { how: "slow" } },
      { atMs: 24_900, do: "by hand: the Lease is deleted" },
    ],
  },
  "backups are asked for with a newer major version, and no pod has the store yet": {
    beginning: "three instances, each must acknowledge",
    seed: 500_000_004,
    steps: [
      {
        atMs: 0,
        do: "edit: backups come or go",
        with: { backup: { store: { claim: { name: "backups" } } } },
      },
      { atMs: 0, do: "edit: a newer major version", with: { version: "17.1" } },
    ],
  },
  "backups lie elsewhere, and a restore in place asks for one that is taken for it": {
    beginning: "three instances with backups",
    seed: 615,
    steps: [
      { atMs: 0, do: "edit: backups lie elsewhere", with: { path: "second" } },
      { atMs: 0, do: "edit: restored in place", with: { id: "1" } },
      { atMs: 150_000, do: "edit: a setting that is reloaded", with: { parameters: { work_mem: "8MB" } } },
    ],
  },
  "backups lie elsewhere, and one is asked for while no pod may be replaced": {
    beginning: "three instances with backups",
    seed: 616,
    steps: [
      { atMs: 0, do: "edit: paused", forMs: 60_000 },
      { atMs: 1_000, do: "edit: backups lie elsewhere", with: { path: "second" } },
      { atMs: 5_000, do: "edit: a backup is asked for", with: { name: "asked" } },
    ],
  },
  "backups are asked for, and the Database is deleted before a pod has the store": {
    beginning: "three instances",
    seed: 617,
    steps: [
      {
        atMs: 0,
        do: "edit: backups come or go",
        with: { backup: { store: { claim: { name: "backups" } } } },
      },
      { atMs: 0, do: "edit: deleted", with: { propagation: "Background", onDelete: "Snapshot" } },
    ],
  },
  "two backups are taken one after the other from one instance": {
    beginning: "three instances with backups",
    seed: 500_000_210,
    steps: [
      { atMs: 0, do: "edit: a backup is asked for", with: { name: "first" } },
      { atMs: 1_000, do: "edit: a backup is asked for", with: { name: "second" } },
    ],
  },
  "the Lease is deleted while no agent reaches the API server, and the wait says for whom": {
    beginning: "three instances, none must acknowledge",
    seed: 500_000_177,
    steps: [
      { atMs: 0, do: "by hand: the Lease is deleted" },
      { atMs: 0, do: "agents: the API server is gone", forMs: 129_900, with: { how: "refused" } },
    ],
  },
  "the claim of the upgraded primary is deleted before a replica is cloned": {
    beginning: "three instances",
    seed: 500_001_182,
    steps: [
      { atMs: 0, do: "edit: a newer major version", with: { version: "17.1" } },
      { atMs: 13_000, do: "volume: destroyed", with: { which: 0.052, how: "claim deleted" } },
    ],
  },
  "the Lease goes back to before a switchover": {
    beginning: "three instances",
    seed: 612,
    steps: [
      { atMs: 0, do: "by hand: the Lease is put back to what it was", forMs: 60_000 },
      { atMs: 1_000, do: "edit: a switchover is asked for", with: { value: "orders-1" } },
    ],
  },
};
