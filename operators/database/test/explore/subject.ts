/** The Database operator as the explorer plays it. */
import { clientName, type Subject, type World } from "@keelson/testing";
import { PersistentVolumeClaim, StorageClass } from "keelson/kinds";
import { Database, type DatabaseObject } from "../../src/api/database.ts";
import { backupController } from "../../src/backup.ts";
import { databaseController } from "../../src/reconcile.ts";
import { acknowledgedIn, settled } from "./acknowledged.ts";
import { simulatedCalls } from "./agent-calls.ts";
import { dataOf, SimPostgres } from "./application.ts";
import { edits, makeAgain } from "./edits.ts";
import { faults } from "./faults.ts";
import { oracles, serving } from "./oracles.ts";
import {
  change,
  feasible,
  followAdvice,
  missingInStatus,
  neverTakenOver,
  statusOf,
  version,
} from "./scene.ts";

export const ref = { namespace: "default", name: "orders" };

export type PostgresWorld = World<SimPostgres>;

const agentImage = "database-operator:test";
const children = ["pods", "services", "configmaps", "policy/poddisruptionbudgets"];
const stored = { store: { claim: { name: "backups" } } };

export const subject: Subject<SimPostgres> = {
  name: "database",
  kind: Database,
  resource: "database.keelson.dev/databases",
  ref,
  application: (parts) => new SimPostgres(parts),
  controllers: (simulation) => {
    const call = simulatedCalls(simulation, ref.namespace);
    return [databaseController({ agentImage, call }), backupController({ call })];
  },
  collected: ["database.keelson.dev/databases", "database.keelson.dev/databasebackups"],
  beginnings: {
    "three instances": begin({ instances: 3 }),
    "three instances with backups": begin({ instances: 3, backup: stored, onDelete: "Snapshot" }),
    "three instances, each must acknowledge": begin({ instances: 3, durability: "all" }),
    "three instances, none must acknowledge": begin({ instances: 3, durability: "async" }),
    "five instances": begin({ instances: 5 }),
    "two instances": begin({ instances: 2 }),
    "one instance": begin({ instances: 1 }),
  },
  edits,
  faults,
  makeFeasible,
  missing,
  client: {
    write: (world, key, value) => {
      const { primary, simulation } = world;
      const spec = primary?.spec as DatabaseObject["spec"] | undefined;
      if (!spec || primary?.metadata.deletionTimestamp !== undefined || spec.hibernate) return undefined;
      const instance = serving(world);
      // What keeps only clients from a primary that serves is not the operator's doing.
      if (instance && !simulation.network.connected(clientName, instance.name)) return undefined;
      const isDone = instance !== undefined && world.application.write(instance, key, value);
      if (isDone) acknowledgedIn(world).set(key, value);
      return isDone;
    },
    read: (world) => {
      const log = serving(world)?.server.data?.log;
      return log && settled(dataOf(log), acknowledgedIn(world));
    },
  },
  mayHaveLost: (world) =>
    world.notes.get("mayHaveLost") === true ||
    (world.primary?.spec as DatabaseObject["spec"] | undefined)?.durability === "async",
  followAdvice,
  oracles,
  keeps: (world) => {
    if (world.notes.get(neverTakenOver) === true) return [...children, "persistentvolumeclaims", "secrets"];
    return world.notes.get("removes") === true ? [] : ["persistentvolumeclaims", "secrets"];
  },
};

function begin(spec: object): (world: PostgresWorld) => Promise<void> {
  return async (world) => {
    await world.client.kind(StorageClass).create({
      metadata: { name: "growing" },
      provisioner: "simulated",
      allowVolumeExpansion: true,
    });
    await world.client.kind(PersistentVolumeClaim).create({
      metadata: { ...ref, name: "backups" },
      spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
    });
    const whole = { version, storage: { size: "1Gi", className: "growing" }, ...spec };
    await world.client.kind(Database).create({ metadata: ref, spec: whole as never });
    for (let seconds = 0; seconds < 300 && missing(world) !== undefined; seconds += 2)
      await world.advance(2_000);
    const left = missing(world);
    if (left !== undefined) throw new Error(`the beginning was not reached: ${left}`);
    await world.advance(61_000);
  };
}

/** What was asked for and cannot be reached is taken back. */
async function makeFeasible(world: PostgresWorld): Promise<void> {
  world.application.isStoreDown = false;
  world.application.brokenVersions.clear();
  world.simulation.kubelet.missingImages.clear();
  world.application.isRehearsalBroken = false;
  world.application.isUpgradeBroken = false;
  await makeAgain(world);
  await change(world, feasible(world.primary, { old: version, next: "17.1" }));
}

/** What keeps the Database from being what its spec asks for. */
export function missing(world: PostgresWorld): string | undefined {
  const told = missingInStatus(world);
  if (told !== undefined || !world.primary) return told;
  const spec = world.primary.spec as unknown as DatabaseObject["spec"];
  const { primary } = statusOf(world.primary);
  const instance = serving(world);
  if (!instance) return "the Service leads nowhere";
  if (instance.name !== primary) return `the Service leads to ${instance.name}, not to ${primary}`;
  const idle = [...world.application.pods].find(({ server }) => !server.isPrimary && !server.isReceiving);
  if (idle) return `${idle.name} does not follow`;
  if (world.application.pods.size !== spec.instances)
    return `${world.application.pods.size} of ${spec.instances} instances run`;
  // What was asked for waits until a person gives the Database a store again.
  if (!spec.backup) return undefined;
  const waiting = world.stored
    .list("database.keelson.dev/databasebackups", ref.namespace)
    .find(({ status: is }) => !/^(Done|Failed)$/.test((is as { phase?: string })?.phase ?? ""));
  return waiting && `DatabaseBackup ${waiting.metadata.name} is not done`;
}
