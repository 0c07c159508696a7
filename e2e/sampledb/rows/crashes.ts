/** The operator dies in the middle of its work, at points spread over all that it changes. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Death, OperatorProcess } from "../../etcd/crashing.ts";
import { operatorImages } from "../images.ts";
import type { Bench, Run, Scenario } from "../scenario.ts";

/** Work in the middle of which the operator is killed. Each leaves a database that the next can begin with. */
interface Stage {
  readonly what: string;
  /** Brings the database to where the work can begin; the operator lives through it. */
  readonly prepare?: (bench: Bench) => Promise<void>;
  /** Resolves to what shows that the work is done, beside a database at rest. */
  readonly begin: (bench: Bench) => Promise<() => Promise<boolean>>;
}

const stages: readonly Stage[] = [
  {
    what: "fails over",
    prepare: async (bench) => await bench.replaceRestarted(),
    begin: async (bench) => {
      const epoch = (await bench.world.get(bench.name)).status?.epoch ?? 0;
      await bench.world.inject({ kind: "kill", pod: bench.ref(await bench.primary()) });
      return async () => ((await bench.world.get(bench.name)).status?.epoch ?? 0) > epoch;
    },
  },
  {
    what: "hands over",
    begin: async (bench) => {
      const [primary, replica] = [await bench.primary(), await bench.replica()];
      await bench.world.change(bench.name, {}, { "sampledb.keelson.dev/hand-over-to": replica });
      return async () => (await bench.primary()) !== primary;
    },
  },
  {
    what: "rolls out a setting",
    begin: async (bench) => {
      const { settings } = (await bench.world.get(bench.name)).spec;
      // It needs a restart, and a lower number is refused.
      const databases = String(Number(settings?.["databases"] ?? 16) + 1);
      await bench.world.change(bench.name, { settings: { databases } });
      return async () => (await bench.world.outdated(bench.name)) === 0;
    },
  },
  {
    what: "grows",
    prepare: async (bench) => {
      await bench.world.change(bench.name, { replicas: 1 });
      await bench.time("it has shrunk", 60_000, async () => await hasReplicas(bench, 1));
    },
    begin: async (bench) => {
      await bench.world.change(bench.name, { replicas: 2 });
      return async () => await hasReplicas(bench, 2);
    },
  },
];

async function hasReplicas({ world, name }: Bench, replicas: number): Promise<boolean> {
  const { status } = await world.get(name);
  return status?.replicas === replicas && (await world.isReady(name));
}

/** The operator may note a last fact after the work is done. */
const settledMs = 5_000;
const mostTries = 3;

/** How many changes each stage takes without a crash. */
const usual = new Map<Stage, number>();
let incumbent: OperatorProcess | undefined;

async function start(bench: Bench): Promise<OperatorProcess> {
  return await OperatorProcess.start(bench.world.kubeconfig, {
    module: new URL("../crashing-operator.ts", import.meta.url),
    env: { OPERATOR_IMAGE: operatorImages[0] },
  });
}

async function settled(bench: Bench, stage: Stage, done: () => Promise<boolean>): Promise<void> {
  await bench.time(
    stage.what,
    180_000,
    async () => (await done()) && (await bench.world.isReady(bench.name)),
  );
}

/**
 * The work is begun, and the operator dies in it. It does not always take as many changes: an operator that was done before
 * its death dies at the last change of the next time.
 */
async function dying(bench: Bench, stage: Stage, death: Death) {
  for (let { change } = death, tries = 1; ; tries++) {
    const victim = incumbent?.alive ? incumbent : await start(bench);
    await stage.prepare?.(bench);
    const since = bench.load.now;
    const before = victim.changes.length;
    await victim.sentence({ ...death, change });
    const done = await stage.begin(bench);
    const isDone = settled(bench, stage, done).then(() => sleep(settledMs));
    await Promise.race([victim.ended, isDone]);
    if (!victim.alive) return { since, done, missed: [] };
    const made = victim.changes.length - before;
    await victim.stop();
    if (tries === mostTries) {
      return { since, done, missed: [`the operator made no ${change} changes while it ${stage.what}`] };
    }
    change = Math.max(1, Math.min(change - 1, made));
  }
}

export const crashes: Scenario = {
  id: "crashes",
  fault:
    "operator killed before and after changes to Kubernetes and Redis, while it fails over, hands over, rolls out, grows",
  goal: "converges to the same end state at 20 points, no acknowledged write lost",
  runs: 20,
  mayLosePlain: true,
  prepare: async (bench) => {
    await bench.world.operator.remove();
    incumbent = await start(bench);
    for (const stage of stages) {
      await stage.prepare?.(bench);
      const before = incumbent.changes.length;
      const done = await stage.begin(bench);
      await settled(bench, stage, done);
      usual.set(stage, incumbent.changes.length - before);
    }
  },
  run: async (bench, nth): Promise<Run> => {
    const stage = stages[nth % stages.length] as Stage;
    const rounds = crashes.runs / stages.length;
    const round = Math.floor(nth / stages.length) % rounds;
    const changes = usual.get(stage) ?? 2;
    const planned = 1 + Math.floor(((round + 0.5) * (changes - 1)) / rounds);
    const when = nth % 2 === round % 2 ? "before" : "after";
    const { since, done, missed } = await dying(bench, stage, { change: planned, when });
    incumbent = await start(bench);
    await settled(bench, stage, done);
    const figures = { "settled, both lives together": bench.load.now - since };
    await bench.load.steady(60_000);
    return { figures, missed };
  },
  conclude: async (bench) => {
    await incumbent?.stop();
    incumbent = undefined;
    await bench.world.operator.install(operatorImages[0]);
  },
};
