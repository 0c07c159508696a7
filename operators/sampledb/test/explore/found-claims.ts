/** Scenarios in which exploring once found a failure: claims that are deleted, and volumes that are wiped. */
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
  "the only volume is wiped while the API server is away: the second start took what the first left for its data":
    {
      beginning: "no replicas",
      seed: 2200000925,
      steps: [
        { atMs: 0, do: "API: outage", forMs: 13900 },
        { atMs: 0, do: "volume: destroyed", with: { which: 0.95, how: "wiped" } },
        { atMs: 11000, do: "volume: full", forMs: 600, with: { which: 0.454 } },
      ],
    },
};
