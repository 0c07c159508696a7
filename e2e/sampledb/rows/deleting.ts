/** Eight ways of deleting a database with `onDelete: Snapshot`, and what must be left of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@keelson/client";
import { SampleDB } from "@keelson/sampledb-operator";
import { Deployment, Namespace, PersistentVolume, PersistentVolumeClaim, Pod } from "keelson/kinds";
import { eventually } from "../../operator/eventually.ts";
import { project } from "../images.ts";
import { type Bench, over, type Run, type Scenario } from "../scenario.ts";
import { cappedStorage, type Spec } from "../world.ts";

interface Way {
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  /** Deletes it, in a namespace of its own where that is part of it. */
  readonly remove: (bench: Bench) => Promise<void>;
  /** What is wrong with what is left when it is gone; none is expected. Brings it back, so that its keys can be read. */
  readonly left: (bench: Bench, spec: Spec) => Promise<readonly string[]>;
  readonly spec?: Spec;
  readonly mayLosePlain?: boolean;
  /** Clients write on throughout. */
  readonly servesOn?: boolean;
  /** It stops the operator, which others need. */
  readonly alone?: boolean;
}

const snapshotGoal = "volumes gone, and a verified last snapshot: restored, it has every acknowledged write";

async function gone(bench: Bench): Promise<void> {
  await eventually(
    "the database is gone",
    240_000,
    async () => (await bench.world.find(bench.name)) === undefined,
    async () => await bench.world.told(bench.name),
  );
}

/** One snapshot and nothing else is left, and a database of the same name is made from it. */
async function snapshot({ world, name }: Bench, spec: Spec): Promise<string[]> {
  const problems: string[] = [];
  const last = await world.lastSnapshots(name);
  if (last.length !== 1) problems.push(`${last.length} last snapshots`);
  const claims = (await world.claims(name)).filter(
    ({ metadata }) => metadata.name.startsWith("data-") && metadata.deletionTimestamp === undefined,
  );
  if (claims.length > 0) problems.push(`${claims.length} volumes are left`);
  const pods = await world.pods(name);
  if (pods.length > 0) problems.push(`${pods.length} pods are left`);
  await world.restoreLast(name, spec);
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
    left: async ({ world, name }, spec) => {
      const uids = async () =>
        (await world.pods(name))
          .map(({ metadata }) => metadata.uid)
          .sort()
          .join();
      const before = await uids();
      await sleep(2_000);
      await world.create(name, { ...spec, onDelete: "Delete" });
      await world.whenReady(name, 120_000);
      return (await uids()) === before && before !== "" ? [] : ["servers were restarted"];
    },
    servesOn: true,
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
      // By force and at once, so that nobody hands over: plain writes of the last moment may go with the primary.
      for (const { metadata } of await bench.world.pods(bench.name))
        await bench.world.deletePod(metadata.name, 0);
      await sleep(2_000);
      await remove(bench);
    },
    left: snapshot,
    mayLosePlain: true,
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

function scenario(way: Way): Scenario {
  const { id, fault, goal, remove: end, left, mayLosePlain = false, servesOn = false, alone = false } = way;
  const spec = { replicas: 1, ...way.spec };
  return {
    id,
    fault,
    goal,
    runs: 10,
    fresh: true,
    mayShare: !alone,
    mayLosePlain,
    spec: { ...spec, onDelete: "Snapshot" },
    run: async (bench): Promise<Run> => {
      const { load } = bench;
      await load.steady(60_000);
      const since = load.now;
      // Clients write until nobody answers them any more.
      await end(bench);
      await gone(bench);
      const figures = { "gone after": load.now - since };
      if (!servesOn) await load.stop();
      const missed = await left(bench, spec);
      if (!servesOn) return { figures, missed };
      await load.steady(60_000);
      const felt = { ...figures, "longest without a write": load.felt(since).longestGapMs };
      return { figures: felt, missed: [...missed, ...over(felt, { "longest without a write": 1_000 })] };
    },
  };
}

/**
 * The namespace goes with everything in it: nothing can be made there any more, so the volumes must survive. A server on
 * the volume of the last primary then has every acknowledged write.
 */
export const namespaceDeleted: Scenario = {
  id: "del-ns",
  fault: "its namespace deleted",
  goal: "volumes survive (PersistentVolume Retain) with every acknowledged write, an event says so, the namespace goes",
  runs: 10,
  fresh: true,
  ownNamespace: true,
  mayShare: true,
  spec: { replicas: 1, onDelete: "Snapshot" },
  run: async ({ world, name, load }): Promise<Run> => {
    const { client, namespace } = world;
    const volumes = async () =>
      (await client.kind(PersistentVolume).list()).items.filter(
        ({ spec }) => spec?.claimRef?.namespace === namespace && spec.claimRef.name?.startsWith("data-"),
      );
    await load.steady(60_000);
    const before = await volumes();
    const since = load.now;
    await client.kind(Namespace).delete({ name: namespace });
    let primary: string | undefined;
    await eventually("the namespace is gone", 240_000, async () => {
      // It may still hand over while it goes.
      primary = (await world.find(name))?.status?.primary ?? primary;
      return (await client.kind(Namespace).find({ name: namespace })) === undefined;
    });
    const figures = { "gone after": load.now - since };
    await load.stop();
    const after = await volumes();
    const missed: string[] = [];
    if (before.length !== 2 || after.length !== 2)
      missed.push(`${after.length} of ${before.length} volumes survived`);
    if (after.some(({ spec }) => spec?.persistentVolumeReclaimPolicy !== "Retain"))
      missed.push("a volume is not kept");
    for (const { metadata } of after)
      if (!(await world.hasEvent("VolumeKept", metadata.name))) missed.push("no event says so");
    const last = after.find(({ spec }) => spec?.claimRef?.name === `data-${primary}`);
    if (!last) return { figures, missed: [...missed, `the volume of the last primary ${primary} is gone`] };
    await using server = await serverOn(client, last.metadata.name);
    load.moveTo({ ip: server.ip, host: "", password: "none" });
    const lost = await load.check();
    missed.push(...lost.byWait, ...lost.plain);
    for (const { metadata } of after) await client.kind(PersistentVolume).delete({ name: metadata.name });
    return { figures, missed };
  },
};

/** A Redis that knows nothing of the operator, on a volume that was kept. */
async function serverOn(
  client: Client,
  volumeName: string,
): Promise<AsyncDisposable & { readonly ip: string }> {
  const ref = { namespace: "default", name: `kept-${volumeName}`.slice(0, 63) };
  const volumes = client.kind(PersistentVolume);
  const volume = await volumes.get({ name: volumeName });
  // A released volume is free for another claim when it forgets the one that is gone.
  await volumes.patch({ name: volumeName }, { type: "merge", body: { spec: { claimRef: null } } as never });
  await client.kind(PersistentVolumeClaim).create({
    metadata: ref,
    spec: {
      accessModes: ["ReadWriteOnce"],
      volumeName,
      ...(volume.spec?.storageClassName ? { storageClassName: volume.spec.storageClassName } : {}),
      resources: { requests: { storage: volume.spec?.capacity?.["storage"] ?? "1Gi" } },
    },
  });
  const pods = client.kind(Pod);
  await pods.create({
    metadata: ref,
    spec: {
      securityContext: { runAsUser: 999, runAsGroup: 999, fsGroup: 999 },
      containers: [
        {
          name: "redis",
          image: "redis:7.0",
          command: ["redis-server", "--dir", "/data", "--appendonly", "yes", "--protected-mode", "no"],
          readinessProbe: { exec: { command: ["redis-cli", "ping"] }, periodSeconds: 1 },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: ref.name } }],
    },
  });
  await eventually(
    `a server runs on ${volumeName}`,
    60_000,
    async () =>
      (await pods.get(ref)).status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      ) ?? false,
    async () => JSON.stringify((await pods.get(ref)).status),
  );
  const ip = (await pods.get(ref)).status?.podIP ?? "";
  return {
    ip,
    async [Symbol.asyncDispose]() {
      await pods.delete(ref, { gracePeriodSeconds: 0 });
      await client.kind(PersistentVolumeClaim).delete(ref);
    },
  };
}

export const deleting: readonly Scenario[] = [...ways.map(scenario), namespaceDeleted];
