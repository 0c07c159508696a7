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
};
