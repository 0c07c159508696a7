/** The Database operator as the explorer plays it. */
import { clientName, type Oracle, type Subject, type World } from "@keelson/testing";
import { PersistentVolumeClaim, StorageClass } from "keelson/kinds";
import { reasons } from "../../src/api/conditions.ts";
import { Database, type DatabaseObject } from "../../src/api/database.ts";
import { annotations } from "../../src/api/names.ts";
import { backupController } from "../../src/backup.ts";
import { databaseController } from "../../src/reconcile.ts";
import { simulatedCalls } from "./agent-calls.ts";
import { dataOf, SimPostgres } from "./application.ts";
import { change, edits } from "./edits.ts";
import { faults } from "./faults.ts";
import type { SimInstance } from "./instance.ts";

export const ref = { namespace: "default", name: "orders" };
export const version = "15.1";

export type PostgresWorld = World<SimPostgres>;

const agentImage = "database-operator:test";
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
    // A later write that was not acknowledged may be there too, and is no loss of the one before.
    read: (world) => {
      const log = serving(world)?.server.data?.log;
      return log && settled(dataOf(log), acknowledgedIn(world));
    },
  },
  mayHaveLost: (world) =>
    world.notes.get("mayHaveLost") === true ||
    (world.primary?.spec as DatabaseObject["spec"] | undefined)?.durability === "async",
  followAdvice,
  oracles: [
    { name: "two primaries never acknowledge", always: ({ application }) => application.violations[0] },
    lastBackup(),
  ],
  keeps: (world) => (world.notes.get("removes") === true ? [] : ["persistentvolumeclaims", "secrets"]),
};

type Known = Map<string, string>;

function acknowledgedIn(world: PostgresWorld): Known {
  const known = world.notes.get("acknowledged") as Known | undefined;
  if (known) return known;
  const made: Known = new Map();
  world.notes.set("acknowledged", made);
  return made;
}

function settled(data: ReadonlyMap<string, string>, known: Known): Map<string, string> {
  const wanted = (key: string, value: string) => {
    const told = known.get(key);
    return told !== undefined && Number(value) >= Number(told) ? told : value;
  };
  return new Map([...data].map(([key, value]) => [key, wanted(key, value)]));
}

/** Where the Service of the writers leads. */
function serving({ simulation, application }: PostgresWorld): SimInstance | undefined {
  return simulation
    .endpoints(ref.namespace, ref.name)
    .map(({ metadata }) => application.instance(metadata.name))
    .find((instance) => instance && !instance.isFrozen && instance.server.isPrimary);
}

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
  const wanted = (world.primary?.spec as DatabaseObject["spec"] | undefined)?.version ?? version;
  const { version: runs = "", upgrade } = (world.primary?.status ?? {}) as NonNullable<
    DatabaseObject["status"]
  >;
  const isNew = runs.startsWith("17") || (wanted.startsWith("17") && upgrade?.phase !== "Failed");
  await change(world, {
    ...{ paused: false, hibernate: false, parameters: null, pod: null },
    version: isNew ? "17.1" : version,
  });
}

/** What keeps the Database from being what its spec asks for. */
export function missing(world: PostgresWorld): string | undefined {
  const { primary } = world;
  if (!primary) {
    const [left] = world.pods;
    return left && `pod ${left.metadata.name} is left`;
  }
  if (primary.metadata.deletionTimestamp !== undefined) return "it is still being deleted";
  const spec = primary.spec as unknown as DatabaseObject["spec"];
  const status = primary.status as DatabaseObject["status"];
  if (!world.isReady) return "it is not Ready";
  if (status?.readyInstances !== spec.instances)
    return `${status?.readyInstances} of ${spec.instances} instances are ready`;
  const instance = serving(world);
  if (!instance) return "the Service leads nowhere";
  if (instance.name !== status.primary)
    return `the Service leads to ${instance.name}, not to ${status.primary}`;
  const idle = [...world.application.pods].find(({ server }) => !server.isPrimary && !server.isReceiving);
  if (idle) return `${idle.name} does not follow`;
  if (world.application.pods.size !== spec.instances)
    return `${world.application.pods.size} of ${spec.instances} instances run`;
  const waiting = world.stored
    .list("database.keelson.dev/databasebackups", ref.namespace)
    .find(({ status: is }) => !/^(Done|Failed)$/.test((is as { phase?: string })?.phase ?? ""));
  return waiting && `DatabaseBackup ${waiting.metadata.name} is not done`;
}

/** Does what the status tells a person to do. */
async function followAdvice(world: PostgresWorld): Promise<string | undefined> {
  const ready = world.condition("Ready");
  const message = ready?.message ?? "";
  const approval = /annotate the Database: (\S+)=(\S+)/.exec(message);
  if (approval) {
    world.notes.set("mayHaveLost", true);
    const body = { metadata: { annotations: { [approval[1] as string]: approval[2] as string } } };
    await world.client.kind(Database).patch(ref, { type: "merge", body });
    return `annotates the Database with ${approval[0]}`;
  }
  if (message.includes("raise spec.storage.size")) {
    const spec = world.primary?.spec as DatabaseObject["spec"] | undefined;
    const storage = spec?.storage ?? { size: "1Gi" };
    const size = `${Number.parseInt(String(storage.size), 10) + 1}Gi`;
    await change(world, { storage: { ...storage, size } });
    return `raises spec.storage.size to ${size}`;
  }
  if (ready?.reason === reasons.downgradeRefused) {
    const [, runs] = /set spec.version to (\S+?),/.exec(message) ?? [];
    await change(world, { version: runs });
    return `sets spec.version to ${runs}`;
  }
  if (ready?.reason === reasons.upgradeFailed) {
    const attempts = Number(world.notes.get("attempts") ?? 0) + 1;
    world.notes.set("attempts", attempts);
    const body = { metadata: { annotations: { [annotations.retryUpgrade]: `again-${attempts}` } } };
    await world.client.kind(Database).patch(ref, { type: "merge", body });
    return "asks for the upgrade again";
  }
  if (ready?.reason === reasons.dataMissing) {
    // Make it again: without a backup it begins empty.
    world.notes.set("mayHaveLost", true);
    const spec = { ...world.primary?.spec };
    await change(world, { onDelete: "Delete" });
    await world.client.kind(Database).delete(ref);
    for (let seconds = 0; seconds < 120 && world.primary; seconds += 5) await world.advance(5_000);
    await world.client.kind(Database).create({ metadata: ref, spec: spec as never });
    return "makes the Database again";
  }
  return undefined;
}

/** A Database that is gone with its volumes has left a backup of everything that was acknowledged. */
function lastBackup(): Oracle<SimPostgres> {
  return {
    name: "the last backup has everything",
    atRest: (world) => {
      if (world.primary || world.notes.get("snapshot") !== true || world.notes.get("mayHaveLost") === true)
        return undefined;
      const claims = world.owned("persistentvolumeclaims");
      if (claims.length > 0) return undefined;
      const [last] = [...world.application.store]
        .filter(([name]) => name.includes("-final-"))
        .map(([, each]) => each);
      if (!last) return "the volumes are gone, and there is no last backup";
      const data = settled(dataOf(last.log), acknowledgedIn(world));
      for (const [key, value] of acknowledgedIn(world))
        if (data.get(key) !== value)
          return `the last backup has ${key}=${data.get(key)}, acknowledged was ${value}`;
      return undefined;
    },
  };
}
