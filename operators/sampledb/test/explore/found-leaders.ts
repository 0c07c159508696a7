/** Scenarios in which exploring once found a failure: who leads, when the status says something else. */
import type { Plan } from "@keelson/testing";

export const foundLeaders: Readonly<Record<string, Plan>> = {
  "the status goes back to before two handovers: the primary of before led without what was written since": {
    beginning: "two replicas",
    seed: 1000001558,
    steps: [
      { atMs: 200, do: "by hand: the status and the marks of volumes are put back", forMs: 4300 },
      { atMs: 200, do: "edit: a setting that needs a restart", with: { settings: { "tcp-backlog": "514" } } },
      { atMs: 400, do: "pod: all deleted" },
      { atMs: 400, do: "edit: backups are asked for", with: { count: 3, primary: false } },
    ],
  },
  "the primary's files are damaged just after its replica was scaled away: nobody asked for the replica's volume":
    {
      beginning: "a replica, with a given certificate",
      seed: 1800001250,
      steps: [
        { atMs: 400, do: "volume: full", forMs: 900, with: { which: 0.925 } },
        { atMs: 400, do: "edit: replicas", with: { replicas: 0 } },
        { atMs: 600, do: "volume: destroyed", with: { which: 0.4, how: "corrupt" } },
      ],
    },
  "what was restored is lost after its server led, and a person approves another: the status said that it was served":
    {
      beginning: "a replica, with a backup",
      seed: 3400002795,
      steps: [
        { atMs: 2000, do: "line: a pod from everyone", forMs: 21800, with: { which: 0.219, how: "dropped" } },
        { atMs: 13600, do: "edit: restored in place", with: { which: 0.2024572237350719, request: "" } },
        { atMs: 22000, do: "volume: destroyed", with: { which: 0.57, how: "wiped" } },
      ],
    },
};
