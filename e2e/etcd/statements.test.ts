import { describe, expect, test } from "vitest";
import { type Look, Statements } from "./statements.ts";

const well = [
  { type: "Ready", status: "True", reason: "Ready" },
  { type: "Available", status: "True", reason: "Quorum" },
  { type: "Degraded", status: "False", reason: "Healthy" },
];
const down = [
  { type: "Ready", status: "False", reason: "NoQuorum" },
  { type: "Available", status: "False", reason: "NoQuorum" },
  { type: "Degraded", status: "True", reason: "NoQuorum" },
];

type World = Omit<Look, "atMs" | "writtenMs"> & { readonly writes: boolean };
const serving: World = {
  conditions: well,
  isMeantToServe: true,
  writes: true,
  answers: true,
  volumes: { named: 3, there: 3 },
};
const silent: World = { ...serving, writes: false, answers: false };

/** What is found untrue when the world is like this for so many seconds, one after the other. */
function untrue(...parts: readonly (readonly [seconds: number, world: World | undefined])[]) {
  const statements = new Statements();
  let [atMs, writtenMs] = [0, 0];
  for (const [seconds, world] of parts) {
    for (let second = 0; second < seconds; second++) {
      atMs += 1_000;
      if (world?.writes) writtenMs = atMs;
      statements.look(world && { ...world, atMs, writtenMs });
    }
  }
  return statements.untrue;
}

describe("the status of a cluster", () => {
  test("is true while clients write", () => {
    expect(untrue([60, serving])).toEqual([]);
  });

  test("may lag behind an outage and behind its end, but not for long", () => {
    const told: World = { ...silent, conditions: down };
    const late: World = { ...serving, conditions: down };
    expect(untrue([5, serving], [14, silent], [60, told], [14, late], [20, serving])).toEqual([]);
    expect(untrue([5, serving], [20, silent])).toEqual([
      "Ready=True while no write had succeeded for 15 s, for 4 s",
      "Available=True while no majority answered, for 19 s",
      "Degraded=False while no majority answered, for 19 s",
    ]);
    expect(untrue([60, told], [21, late])).toEqual(["Available=False while clients wrote, for 20 s"]);
  });

  test("says Ready of one that answers and takes no writes only for a while", () => {
    expect(untrue([5, serving], [30, { ...serving, writes: false }])).toEqual([
      "Ready=True while no write had succeeded for 15 s, for 14 s",
    ]);
  });

  test("need not say Degraded of one that hibernates, and may not say Available", () => {
    const asleep: World = { ...silent, isMeantToServe: false };
    expect(untrue([30, asleep])).toEqual(["Available=True while no majority answered, for 29 s"]);
  });

  test.each<[string, number, readonly string[]]>([
    ["AllDataLost", 1, ["AllDataLost while a volume was there, for 0 s"]],
    ["AllDataLost", 0, []],
    ["QuorumLost", 2, ["QuorumLost while the volumes of a majority were there, for 0 s"]],
    ["QuorumLost", 1, []],
  ])("does not say %s, not even once, while %i of 3 volumes are there", (reason, there, expected) => {
    const conditions = [...down, { type: "Stalled", status: "True", reason }];
    expect(untrue([1, { ...silent, conditions, volumes: { named: 3, there } }])).toEqual(expected);
  });

  test("says nothing while there is none", () => {
    expect(untrue([14, silent], [1, undefined], [14, silent])).not.toContainEqual(
      expect.stringContaining("Available"),
    );
  });
});
