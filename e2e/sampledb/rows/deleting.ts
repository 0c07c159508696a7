/** Eight ways of deleting a database with `onDelete: Snapshot`, and what must be left of it. */
import { setTimeout as sleep } from "node:timers/promises";
import { SampleDB, SampleDBBackup } from "@keelson/sampledb-operator";
import { Deployment, Namespace, PersistentVolume } from "keelson/kinds";
import { eventually } from "../../operator/eventually.ts";
import { project } from "../images.ts";
import type { Bench, Run, Scenario } from "../scenario.ts";
import { cappedStorage, type Spec } from "../world.ts";

interface Way {
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  /** Deletes it, in a namespace of its own where that is part of it. */
  readonly remove: (bench: Bench) => Promise<void>;
  /** What is wrong with what is left; none is expected. */
  readonly left: (bench: Bench, keys: number) => Promise<readonly string[]>;
  readonly spec?: Spec;
  /** It stops the operator, which others need. */
  readonly alone?: boolean;
}

const snapshotGoal = "a verified last snapshot with every key; volumes gone";

async function gone(bench: Bench): Promise<void> {
  await eventually(
    "the database is gone",
    240_000,
    async () => (await bench.world.find(bench.name)) === undefined,
    async () => await bench.world.told(bench.name),
  );
}

/** The last snapshot has every key, and nothing else is left. */
async function snapshot(bench: Bench, keys: number): Promise<string[]> {
  await gone(bench);
  const { items } = await bench.world.client.kind(SampleDBBackup).list({ namespace: "default" });
  const last = items.filter(
    ({ metadata, status }) => metadata.name.startsWith(`${bench.name}-final`) && status?.phase === "Done",
  );
  const problems: string[] = [];
  if (last.length !== 1) problems.push(`${last.length} last snapshots`);
  const found = last[0]?.status?.keys ?? 0;
  if (found < keys) problems.push(`the last snapshot has ${found} keys of ${keys}`);
  const claims = (await bench.world.claims(bench.name)).filter(
    ({ metadata }) => metadata.name.startsWith("data-") && metadata.deletionTimestamp === undefined,
  );
  if (claims.length > 0) problems.push(`${claims.length} volumes are left`);
  const pods = await bench.world.pods(bench.name);
  if (pods.length > 0) problems.push(`${pods.length} pods are left`);
  return problems;
}

async function remove(bench: Bench, propagation?: "Foreground" | "Background" | "Orphan"): Promise<void> {
  await bench.world.client.kind(SampleDB).delete(bench.ref(bench.name), propagation ? { propagation } : {});
}

const ways: readonly Way[] = [
  {
    id: "del-bg",
    fault: "deleted in the background",
    goal: snapshotGoal,
    remove: async (bench) => await remove(bench, "Background"),
    left: snapshot,
  },
  {
    id: "del-fg",
    fault: "deleted in the foreground",
    goal: snapshotGoal,
    remove: async (bench) => await remove(bench, "Foreground"),
    left: snapshot,
  },
  {
    id: "del-orphan",
    fault: "deleted with its dependents orphaned, and made again",
    goal: "it serves on, and the new object takes it over without a restart",
    remove: async (bench) => await remove(bench, "Orphan"),
    left: async (bench) => {
      const before = (await bench.world.pods(bench.name))
        .map(({ metadata }) => metadata.uid)
        .sort()
        .join();
      await gone(bench);
      await sleep(2_000);
      await bench.world.create(bench.name, { replicas: 1, onDelete: "Delete" });
      await bench.world.whenReady(bench.name, 120_000);
      const after = (await bench.world.pods(bench.name))
        .map(({ metadata }) => metadata.uid)
        .sort()
        .join();
      return before === after && before !== "" ? [] : ["servers were restarted"];
    },
  },
  {
    id: "del-operator",
    fault: "deleted while the operator is stopped, which is started later",
    goal: snapshotGoal,
    remove: async (bench) => {
      const scale = async (replicas: number) => {
        await bench.world.client
          .kind(Deployment)
          .patch(
            { namespace: project.name, name: project.name },
            { type: "merge", body: { spec: { replicas } } },
          );
      };
      await scale(0);
      await eventually(
        "the operator is gone",
        60_000,
        async () => (await bench.world.operator.pods()).length === 0,
      );
      await remove(bench, "Foreground");
      await sleep(3_000);
      await scale(1);
    },
    left: snapshot,
    alone: true,
  },
  {
    id: "del-dead",
    fault: "deleted while no server can start",
    goal: snapshotGoal,
    remove: async (bench) => {
      await bench.world.change(bench.name, { pod: { nodeSelector: { "no-such": "node" } } });
      await sleep(1_000);
      for (const { metadata } of await bench.world.pods(bench.name))
        await bench.world.deletePod(metadata.name, 0);
      await sleep(2_000);
      await remove(bench);
    },
    left: snapshot,
  },
  {
    id: "del-full",
    fault: "deleted while its volumes are full",
    goal: snapshotGoal,
    spec: { storage: cappedStorage },
    remove: async (bench) => {
      for (const { metadata } of await bench.world.pods(bench.name))
        await bench.world.inject({ kind: "fillDisk", pod: bench.ref(metadata.name), volume: "data" });
      await remove(bench);
    },
    left: snapshot,
  },
  {
    id: "del-twice",
    fault: "deleted twice",
    goal: snapshotGoal,
    remove: async (bench) => {
      await remove(bench);
      await remove(bench, "Foreground").catch(() => undefined);
    },
    left: snapshot,
  },
];

function scenario({ id, fault, goal, remove: end, left, spec, alone = false }: Way): Scenario {
  return {
    id,
    fault,
    goal,
    runs: 10,
    fresh: true,
    mayShare: !alone,
    spec: { replicas: 1, onDelete: "Snapshot", ...spec },
    run: async (bench): Promise<Run> => {
      await bench.load.steady(60_000);
      await bench.load.stop();
      const keys = bench.load.keys;
      const since = performance.now();
      await end(bench);
      const missed = await left(bench, keys);
      return { figures: { "gone after": performance.now() - since }, missed };
    },
  };
}

/** The namespace goes with everything in it: nothing can be made there any more, so the volumes must survive. */
export const namespaceDeleted: Scenario = {
  id: "del-ns",
  fault: "its namespace deleted",
  goal: "volumes survive (PersistentVolume Retain), an event says so, the namespace goes",
  runs: 10,
  run: async (bench, nth): Promise<Run> => {
    const { client } = bench.world;
    const namespace = `going-${nth}-${Date.now() % 100_000}`;
    await client.kind(Namespace).create({ metadata: { name: namespace } });
    const name = "db";
    const spec = { version: "7.0", replicas: 1, onDelete: "Snapshot" as const };
    await client.kind(SampleDB).create(SampleDB.object({ metadata: { namespace, name }, spec }));
    await eventually("it is ready", 120_000, async () => {
      const { status } = await client.kind(SampleDB).get({ namespace, name });
      return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
    });
    const volumes = async () =>
      (await client.kind(PersistentVolume).list()).items.filter(
        ({ spec: its }) => its?.claimRef?.namespace === namespace && its.claimRef.name?.startsWith("data-"),
      );
    const before = await volumes();
    const since = performance.now();
    await client.kind(Namespace).delete({ name: namespace });
    await eventually(
      "the namespace is gone",
      240_000,
      async () => (await client.kind(Namespace).find({ name: namespace })) === undefined,
    );
    const figures = { "gone after": performance.now() - since };
    const after = await volumes();
    const missed: string[] = [];
    if (before.length !== 2 || after.length !== 2)
      missed.push(`${after.length} of ${before.length} volumes survived`);
    if (after.some(({ spec: its }) => its?.persistentVolumeReclaimPolicy !== "Retain"))
      missed.push("a volume is not kept");
    if (!(await bench.world.hasEvent("VolumeKept", after[0]?.metadata.name ?? "")))
      missed.push("no event says so");
    for (const { metadata } of after) await client.kind(PersistentVolume).delete({ name: metadata.name });
    return { figures, missed };
  },
};

export const deleting: readonly Scenario[] = [...ways.map(scenario), namespaceDeleted];
