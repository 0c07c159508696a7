/** Scenarios in which exploring once found a failure: claims that are deleted while something keeps them. */
import type { Plan } from "@keelson/testing";

export const foundClaims: Readonly<Record<string, Plan>> = {
  "the claim of the store is deleted after an upgrade of a database before: its rehearsal kept the claim": {
    beginning: "two replicas",
    seed: 1200000624,
    steps: [
      { atMs: 0, do: "edit: a newer version, whose image is missing", forMs: 600 },
      {
        atMs: 5000,
        do: "edit: deleted and made again",
        with: { propagation: "Orphan", onDelete: "Retain" },
      },
      { atMs: 7000, do: "volume: destroyed", with: { which: 0.865, how: "claim deleted" } },
    ],
  },
};
