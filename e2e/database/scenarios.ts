/** What goes wrong, and what must come of it. */
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../operator/eventually.ts";
import { replaceRestarted } from "../operator/replace-restarted.ts";
import type { Ledger } from "./ledger.ts";
import { namespace, type World } from "./world.ts";

export interface Bench {
  readonly world: World;
  readonly name: string;
  readonly ledger: Ledger;
}

export interface Scenario {
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  readonly runs: number;
  /** The longest time without an acknowledged commit. */
  readonly gapMs: number;
  /** How long until everything is ready again. */
  readonly healMs: number;
  /** Of a Database of its own; default: the one that scenarios share. */
  readonly spec?: object;
  /** Clients come through the pooler. */
  readonly through?: "pooler";
  /** Commits are taken back on purpose: the scenario itself looks for those that must be there. */
  readonly isRewinding?: boolean;
  /** Its Database is gone at the end. */
  readonly isDeleting?: boolean;
  /** Before the clients begin. */
  readonly prepare?: (bench: Omit<Bench, "ledger">) => Promise<void>;
  /** Breaks something; what it returns repairs it, after a commit was acknowledged again. */
  readonly run: (bench: Bench) => Promise<(() => Promise<void>) | undefined>;
  /** What the run must have brought about, beside no loss and a short gap. */
  readonly check?: (
    bench: Bench,
    before: { readonly primary: string; readonly epoch: number },
  ) => Promise<string[]>;
}

const ref = (name: string) => ({ namespace, name });

const primaryFault = (
  options: Pick<Scenario, "id" | "fault" | "runs" | "gapMs" | "prepare"> & {
    readonly breaks: (world: World, primary: string) => Promise<(() => Promise<void>) | undefined>;
    readonly goal?: string;
  },
): Scenario => ({
  goal: `gap ≤ ${options.gapMs / 1_000} s, 0 lost, 0 ms of two primaries`,
  healMs: 90_000,
  ...options,
  run: async ({ world, name }) => await options.breaks(world, await world.primary(name)),
});

/** The primary has not restarted: it was a replica before, and that had a new pod. */
const withNewPods: Scenario["prepare"] = async ({ world, name }) => {
  const primary = await world.primary(name);
  const replicas = world.instances(name).filter((instance) => instance.name !== primary);
  await replaceRestarted(
    world.client,
    replicas.map((instance) => ref(instance.name)),
    { force: true },
  );
  await world.whenReady(name, 120_000);
};
const kill = async (world: World, primary: string) => {
  await world.inject({ kind: "kill", pod: ref(primary) });
  return undefined;
};
const forceDelete = async (world: World, primary: string) => {
  await world.deletePod(primary, { force: true });
  return undefined;
};
const freeze = async (world: World, primary: string) => {
  await world.inject({ kind: "freeze", pod: ref(primary), frozen: true });
  return async () => await world.inject({ kind: "freeze", pod: ref(primary), frozen: false });
};
const cut = (direction: "in" | "out" | "both") => async (world: World, primary: string) => {
  await world.inject({ kind: "cut", pod: ref(primary), direction });
  return async () => await world.inject({ kind: "mend", pod: ref(primary) });
};
const nodeDown = async (world: World, primary: string) => {
  const node = world.pod(primary)?.spec?.nodeName;
  if (node === undefined) throw new Error(`${primary} has no node`);
  await world.inject({ kind: "nodeDown", node });
  return async () => await world.inject({ kind: "nodeUp", node });
};

const withoutOperator = (scenario: Scenario): Scenario => ({
  ...scenario,
  id: `${scenario.id}-no-operator`,
  fault: `${scenario.fault}, with the operator gone`,
  runs: 5,
  run: async (bench) => {
    await bench.world.operator.scale(0);
    const repair = await scenario.run(bench);
    return async () => {
      await repair?.();
      await bench.world.operator.scale(1);
    };
  },
});

const killed = primaryFault({
  id: "kill",
  fault: "primary's container killed",
  runs: 30,
  gapMs: 8_000,
  prepare: withNewPods,
  breaks: kill,
});
const deleted = primaryFault({
  id: "delete",
  fault: "primary's pod deleted by force",
  runs: 30,
  gapMs: 8_000,
  breaks: forceDelete,
});
const frozen = primaryFault({
  id: "freeze",
  fault: "primary frozen",
  runs: 10,
  gapMs: 15_000,
  breaks: freeze,
});
const cutBoth = primaryFault({
  id: "cut-both",
  fault: "primary cut off both ways",
  runs: 10,
  gapMs: 15_000,
  breaks: cut("both"),
});
const cutIn = primaryFault({
  id: "cut-in",
  fault: "primary receives nothing",
  runs: 10,
  gapMs: 15_000,
  breaks: cut("in"),
});
const cutOut = primaryFault({
  id: "cut-out",
  fault: "primary sends nothing",
  runs: 10,
  gapMs: 15_000,
  breaks: cut("out"),
});
const nodeLost = primaryFault({
  id: "node",
  fault: "primary's node lost",
  runs: 10,
  gapMs: 15_000,
  breaks: nodeDown,
});

/** The primary goes on, and a PostgreSQL that crashes in the middle is started again by its agent. */
const apiServerGone = (id: string, minutes: number, runs: number): Scenario => ({
  id,
  fault: `API server gone for ${minutes === 1 ? "a minute" : `${minutes} minutes`}, PostgreSQL crashed meanwhile`,
  goal: "0 failovers; outage only while PostgreSQL restarts",
  runs,
  gapMs: 8_000,
  healMs: 60_000,
  run: async ({ world, name, ledger }) => {
    const halfMs = minutes * 30_000;
    const primary = await world.primary(name);
    world.stopApiServer();
    try {
      await sleep(halfMs);
      const quiet = ledger.gapSince(ledger.now - halfMs + 1_000);
      if (quiet > 3_000) throw new Error(`${quiet} ms without a commit while only the API server was gone`);
      await world.crashPostgres(primary);
      await sleep(halfMs);
    } finally {
      world.continueApiServer();
    }
    return undefined;
  },
  check: async ({ world, name }, before) => {
    const { status } = await world.get(name);
    return status?.epoch === before.epoch
      ? []
      : [`there was a failover: epoch ${before.epoch} became ${status?.epoch}`];
  },
});

const switchover: Scenario = {
  id: "switchover",
  fault: "planned switchover",
  goal: "gap ≤ 2 s",
  runs: 10,
  gapMs: 2_000,
  healMs: 60_000,
  run: async ({ world, name }) => {
    const { epoch = 0 } = (await world.get(name)).status ?? {};
    await world.annotate(name, { "database.keelson.dev/switchover": `any@${Date.now()}` });
    await eventually(
      "the switchover is done",
      30_000,
      async () => ((await world.get(name)).status?.epoch ?? 0) > epoch,
    );
    return undefined;
  },
  check: async ({ world, name }, before) => {
    const primary = await world.primary(name);
    return primary === before.primary ? [`${primary} is primary still`] : [];
  },
};

const drained: Scenario = {
  id: "drain",
  fault: "primary's pod deleted in the ordinary way, as a drain does",
  goal: "gap ≤ 2 s",
  runs: 10,
  gapMs: 2_000,
  healMs: 90_000,
  run: async ({ world, name }) => {
    await world.deletePod(await world.primary(name));
    return undefined;
  },
};

const replicaVolume: Scenario = {
  id: "replica-volume",
  fault: "a replica's volume lost",
  goal: "no gap; cloned again within 60 s",
  runs: 5,
  gapMs: 3_000,
  healMs: 60_000,
  run: async ({ world, name }) => {
    const instance = await world.replica(name);
    await world.loseVolume(instance);
    // A container that ends again within minutes waits for the kubelet's back-off, 80 s the fifth time: each run has a new pod.
    await world.deletePod(instance, { force: true });
    return undefined;
  },
};

const replicaKilled: Scenario = {
  id: "replica",
  fault: "a replica's pod deleted",
  goal: "no gap; back within 60 s",
  runs: 5,
  gapMs: 3_000,
  healMs: 60_000,
  run: async ({ world, name }) => {
    await world.deletePod(await world.replica(name), { force: true });
    return undefined;
  },
};

const operatorGone: Scenario = {
  id: "operator",
  fault: "operator removed and upgraded",
  goal: "no gap, 0 restarts",
  runs: 10,
  gapMs: 2_000,
  healMs: 60_000,
  run: async ({ world, name }) => {
    const before = world.incarnations(name);
    await world.operator.scale(0);
    await world.upgradeOperator();
    await sleep(5_000);
    const after = world.incarnations(name);
    if (before.join() !== after.join()) throw new Error(`pods were restarted: ${before} became ${after}`);
    return undefined;
  },
};

/** In the order of the table. */
export const scenarios: readonly Scenario[] = [
  killed,
  deleted,
  frozen,
  cutBoth,
  cutIn,
  cutOut,
  nodeLost,
  ...[killed, deleted, frozen, cutBoth, nodeLost].map(withoutOperator),
  apiServerGone("api", 1, 3),
  apiServerGone("api-long", 10, 3),
  switchover,
  drained,
  operatorGone,
  replicaKilled,
  replicaVolume,
];
