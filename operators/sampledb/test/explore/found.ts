/** Scenarios in which exploring once found a failure, by what happens in them. */
import type { Plan } from "@keelson/testing";

export const found: Readonly<Record<string, Plan>> = {
  "two writes are carried out and never answered, one after the other": {
    beginning: "a replica",
    seed: 1,
    steps: [
      { atMs: 900, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
      { atMs: 900, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } },
      { atMs: 1000, do: "edit: a live setting", with: { settings: { timeout: "60" } } },
      { atMs: 1000, do: "edit: replicas", with: { replicas: 2 } },
      { atMs: 100000, do: "edit: paused", forMs: 100 },
    ],
  },
  "the operator is killed three times in a row, and each lease has to run out": {
    beginning: "no replicas",
    seed: 30005,
    managers: 2,
    steps: [
      { atMs: 17800, do: "operator: killed at a write", with: { in: 1, when: "before" } },
      { atMs: 23900, do: "pod: deleted", with: { which: 0.313, force: false } },
      { atMs: 35000, do: "operator: killed at a call to the application", with: { in: 1, when: "before" } },
      { atMs: 40100, do: "operator: killed at a write", with: { in: 7, when: "before" } },
      { atMs: 41600, do: "operator: killed at a write", with: { in: 2, when: "before" } },
      { atMs: 43300, do: "node: loses power", forMs: 9500, with: { which: 0.563 } },
      { atMs: 56400, do: "by hand: a child is deleted", with: { which: 0.309 } },
    ],
  },
  "the given certificate is replaced while the primary's volume is lost: whom to trust grew with every pass":
    {
      beginning: "a replica, with a given certificate",
      seed: 31028,
      steps: [
        { atMs: 20700, do: "edit: the given certificate is replaced, and its authority" },
        { atMs: 22400, do: "volume: destroyed", with: { which: 0.222, how: "wiped" } },
      ],
    },
  "the only volume is damaged while an upgrade begins: going back, nobody said that all data is lost": {
    beginning: "a replica",
    seed: 500245,
    steps: [
      { atMs: 600, do: "edit: replicas", with: { replicas: 0 } },
      { atMs: 11500, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
      { atMs: 12000, do: "volume: destroyed", with: { which: 0.599, how: "corrupt" } },
      { atMs: 28000, do: "edit: replicas", with: { replicas: 1 } },
    ],
  },
};
