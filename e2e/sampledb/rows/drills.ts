/** Drills of the kit on a SampleDB: each kind of fault, with what it recorded. */
import { Drill } from "@keelson/sampledb-operator";
import { eventually } from "../../operator/eventually.ts";
import type { Bench, Run, Scenario } from "../scenario.ts";
import { cappedStorage } from "../world.ts";

type Fault = "DeletePod" | "Kill" | "Freeze" | "CutOff" | "FillDisk";

/** Orders a drill of the primary and waits for what it records. */
async function drilled(bench: Bench, fault: Fault, nth: number): Promise<Run> {
  const { client, namespace } = bench.world;
  const name = `${fault.toLowerCase()}-${nth}-${Date.now() % 100_000}`;
  await bench.load.steady(60_000);
  await client.kind(Drill).create(
    Drill.object({
      metadata: { namespace, name },
      spec: {
        target: { kind: "SampleDB", name: bench.name },
        fault,
        durationSeconds: 10,
        victims: { labels: { "sampledb.keelson.dev/role": "primary" }, count: 1, all: false },
      },
    }),
  );
  const find = async () => (await client.kind(Drill).get({ namespace, name })).status;
  await eventually(
    `the drill ${name} has ended`,
    180_000,
    async () => ((await find())?.results?.length ?? 0) > 0,
    async () => JSON.stringify(await find()),
  );
  const result = (await find())?.results?.[0];
  await client.kind(Drill).delete({ namespace, name });
  const missed = [
    ...(result?.recovered ? [] : ["not recovered"]),
    ...(result?.lost === 0 ? [] : [`${result?.lost} of ${result?.acknowledged} writes lost`]),
    ...(result?.acknowledged ? [] : ["its client wrote nothing"]),
    ...(result?.recoveredAfterSeconds === undefined ? [result?.message ?? "no time of recovery"] : []),
  ];
  return {
    figures: {
      recovered: (result?.recoveredAfterSeconds ?? 0) * 1_000,
      "longest without a write of its client": (result?.longestGapSeconds ?? 0) * 1_000,
    },
    missed,
  };
}

function drill(fault: Fault, what: string, more: Partial<Scenario> = {}): Scenario {
  return {
    id: `drill-${fault.toLowerCase()}`,
    fault: `Drill ${fault}: ${what}`,
    goal: "recovered, nothing lost, and the drill says so",
    runs: 3,
    run: async (bench, nth) => await drilled(bench, fault, nth),
    ...more,
  };
}

/** Every pod at once, every minute: first beyond the budget, then within it, until it is suspended. */
const scheduled: Scenario = {
  id: "drill-scheduled",
  fault: "Drill DeletePod of all pods, every minute, suspended after two runs",
  goal: "no run beyond its budget, one for each minute, each recovered and nothing lost; none while it is suspended",
  runs: 1,
  run: async (bench, nth): Promise<Run> => {
    const { world } = bench;
    const { namespace } = world;
    const client = world.client.kind(Drill);
    const ref = { namespace, name: `scheduled-${nth}-${Date.now() % 100_000}` };
    const servers = async () => (await world.pods(bench.name)).map(({ metadata }) => metadata);
    const uids = async () =>
      (await servers())
        .map(({ uid }) => uid)
        .sort()
        .join();
    const status = async () => (await client.get(ref)).status;
    const told = async () => JSON.stringify(await status());
    const change = async (spec: object) => {
      await client.patch(ref, { type: "merge", body: { spec } as never });
    };
    const missed: string[] = [];
    await bench.load.steady(60_000);
    const before = await uids();
    const names = (await servers()).map(({ name }) => name).sort();
    await client.create(
      Drill.object({
        metadata: ref,
        spec: {
          target: { kind: "SampleDB", name: bench.name },
          fault: "DeletePod",
          schedule: "* * * * *",
          victims: { labels: {}, count: 1, all: true },
          budget: { pods: 1, runsPerDay: 24, failures: 1 },
        },
      }),
    );
    await eventually(
      "it is due and beyond its budget",
      90_000,
      async () => (await status())?.message?.includes("more than the 1 that budget.pods allows") ?? false,
      told,
    );
    if ((await uids()) !== before) missed.push("pods were deleted beyond the budget");
    await change({ budget: { pods: names.length } });
    await eventually(
      "two runs have ended",
      240_000,
      async () => ((await status())?.results?.length ?? 0) >= 2,
      told,
    );
    await change({ suspend: true });
    await eventually("it is suspended", 60_000, async () => (await status())?.phase === "Suspended", told);
    const { results = [] } = (await status()) ?? {};
    const rested = await uids();
    // Another run would be due by then.
    const nextMinute = (Math.floor(Date.now() / 60_000) + 1) * 60_000;
    await eventually("the next minute has come", 90_000, async () => Date.now() > nextMinute + 5_000);
    if ((await status())?.results?.length !== results.length || (await uids()) !== rested)
      missed.push("a run began while it was suspended");
    await client.delete(ref);
    for (const { at, victims, recovered, acknowledged = 0, lost, message = "" } of results) {
      if (!recovered) missed.push(`the run at ${at} did not recover: ${message}`);
      if ([...victims].sort().join() !== names.join())
        missed.push(`the run at ${at} hit ${victims.join(", ")}`);
      if (acknowledged === 0) missed.push(`the client of the run at ${at} wrote nothing`);
      if (lost !== 0) missed.push(`${lost} of ${acknowledged} writes lost in the run at ${at}`);
    }
    const longest = (of: (result: (typeof results)[number]) => number | undefined) =>
      1_000 * Math.max(0, ...results.map((result) => of(result) ?? 0));
    return {
      figures: {
        recovered: longest((result) => result.recoveredAfterSeconds),
        "longest without a write of its client": longest((result) => result.longestGapSeconds),
      },
      missed,
    };
  },
};

export const drills: readonly Scenario[] = [
  drill("DeletePod", "the primary's pod"),
  drill("Kill", "the primary's process", {
    mayLosePlain: true,
    run: async (bench, nth) => {
      await bench.replaceRestarted();
      return await drilled(bench, "Kill", nth);
    },
  }),
  drill("Freeze", "the primary for 10 s", { mayLosePlain: true }),
  drill("CutOff", "the primary for 10 s, by a NetworkPolicy", { mayLosePlain: true }),
  drill("FillDisk", "the primary's volume for 10 s", { spec: { storage: cappedStorage } }),
  scheduled,
];
