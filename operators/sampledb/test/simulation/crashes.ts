/** Runs a scenario once for every write to the API server and every call that changes a Redis, with a manager that dies. */
import { PersistentVolume } from "@keelson/core/kinds";
import { type Cluster, cluster, SeededRandom } from "@keelson/testing";
import { sampleDB } from "../../src/reconcile.ts";
import { SimulatedRedis } from "./redis.ts";

export interface Stage {
  readonly cluster: Cluster;
  readonly redis: SimulatedRedis;
}

export type Scenario = (stage: Stage) => Promise<void>;

type Death =
  | { readonly at: "write"; readonly index: number; readonly when: "before" | "after" }
  | { readonly at: "call"; readonly index: number; readonly when: "before" | "after" };

export async function everyCrash(
  scenario: Scenario,
  {
    sample,
    onRun,
  }: {
    /** So many of them, the same for the same seed. Default: all. */
    readonly sample?: { readonly count: number; readonly seed: number };
    readonly onRun?: (done: number, of: number) => void;
  } = {},
): Promise<{ writes: number; calls: number; runs: number }> {
  const { writes, calls } = await play(scenario);
  const deaths: Death[] = [];
  for (const when of ["before", "after"] as const) {
    for (let index = 1; index <= writes; index++) deaths.push({ at: "write", index, when });
    for (let index = 1; index <= calls; index++) deaths.push({ at: "call", index, when });
  }
  const chosen = sample ? new SeededRandom(sample.seed).sample(deaths, sample.count) : deaths;
  for (const [done, death] of chosen.entries()) {
    onRun?.(done, chosen.length);
    try {
      await play(scenario, death);
    } catch (cause) {
      throw new Error(`died ${death.when} ${death.at} ${death.index}: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
  return { writes, calls, runs: 1 + chosen.length };
}

async function play(scenario: Scenario, death?: Death): Promise<{ writes: number; calls: number }> {
  const redis = new SimulatedRedis();
  let calls = 0;
  await using stage = await cluster({
    controllers: [sampleDB({ dial: redis.dial })],
    workloads: true,
    connect: redis.connect,
  });
  redis.attach(stage);
  await makeVolumes(stage);
  if (death?.at === "write") stage.crashAt(death.index, death.when);
  redis.onCall = (moment) => {
    if (moment === "before") calls++;
    if (death?.at === "call" && calls === death.index && moment === death.when) stage.crash();
  };
  await scenario({ cluster: stage, redis });
  return { writes: stage.writes.length, calls };
}

/** Nobody makes volumes in a simulated cluster: these are there to be bound. */
async function makeVolumes({ client }: Cluster): Promise<void> {
  for (let index = 0; index < 10; index++) {
    await client.kind(PersistentVolume).create({
      metadata: { name: `volume-${index}` },
      spec: {
        capacity: { storage: "10Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Delete",
        hostPath: { path: `/volumes/${index}` },
      },
    });
  }
}
