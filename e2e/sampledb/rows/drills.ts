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
];
