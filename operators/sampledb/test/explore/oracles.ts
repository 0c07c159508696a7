/** What must hold for a SampleDB. */
import type { Oracle, PodObject } from "@keelson/testing";
import { minorOf } from "../../src/engine/version.ts";
import type { SimRedis } from "./application.ts";
import {
  acknowledgedIn,
  backupsIn,
  databaseIn,
  dumpNamed,
  type RedisWorld,
  ref,
  serving,
} from "./database.ts";
import type { Files } from "./files.ts";
import { startWorkloads } from "./workloads.ts";

type RedisOracle = Oracle<SimRedis>;

/** Two primaries that both take writes with enough acknowledgements are never there. */
const onePrimary: RedisOracle = {
  name: "at most one primary takes writes that WAIT acknowledges",
  always: (world) => {
    const acks = databaseIn(world)?.spec.durability.acknowledgements ?? 1;
    const able = [...world.application.servers].filter(
      (server) =>
        server.running &&
        server.role === "primary" &&
        server.closeReplicas >= server.guard &&
        server.replicas.filter(({ server: each }) => each.isLinkedTo(server)).length >= Math.max(1, acks),
    );
    return able.length > 1 ? `${able.map(({ name }) => name).join(" and ")} lead at once` : undefined;
  },
};

/** What is written to the new version before it was verified is lost when the upgrade goes back. */
const closedUntilVerified: RedisOracle = {
  name: "nobody can write to the new version before an upgrade is verified",
  always: (world) => {
    const { upgrade } = databaseIn(world)?.status ?? {};
    if (!upgrade || upgrade.pointOfNoReturn) return undefined;
    if (!["Switching", "Verifying", "GoingBack"].includes(upgrade.phase)) return undefined;
    const open = [...world.application.servers].find(
      ({ name, version, running, takesWrites }) =>
        running && takesWrites && minorOf(version) === upgrade.to && name !== upgrade.held,
    );
    return open && `${open.name} takes writes in phase ${upgrade.phase}`;
  },
};

/** Whether a set of keys has every write that was acknowledged, or a later one. */
function lacks(world: RedisWorld, keys: ReadonlyMap<string, string>): string | undefined {
  for (const [key, value] of acknowledgedIn(world))
    if (Number(keys.get(key) ?? -1) < Number(value))
      return `${key} was acknowledged as ${value} and is ${keys.get(key)}`;
  return undefined;
}

/** Where nothing destroyed data, a database that is gone left all of it: in a snapshot, or on its volumes. */
const leftBehind: RedisOracle = {
  name: "a deleted database leaves what its spec promises",
  atRest: (world) => {
    const leaves = world.notes.get("leaves");
    if (world.primary || leaves === undefined || leaves === "Delete") return undefined;
    const isExcused =
      world.notes.get("mayHaveLost") === true ||
      world.trace.some(({ text }) => text.startsWith("volume: destroyed"));
    if (isExcused) return undefined;
    const snapshots = backupsIn(world)
      .filter(({ metadata, status }) => metadata.name.includes("-final-") && status?.phase === "Done")
      .flatMap(({ status }) => dumpNamed(world, status?.name) ?? []);
    const volumes = [...world.simulation.volumes.all.values()].flatMap(({ data }) =>
      data === undefined || data instanceof Map ? [] : [data as Files],
    );
    const places = leaves === "Snapshot" ? [...snapshots, ...volumes] : volumes;
    const missing = places.map(({ keys }) => lacks(world, keys));
    if (missing.includes(undefined)) return undefined;
    return missing[0] === undefined
      ? `nothing is left of ${ref.name}`
      : `of ${ref.name} is left: ${missing[0]}`;
  },
};

/** A restore that is said to be done is the one that the spec asks for. */
const restored: RedisOracle = {
  name: "what is served is what was restored",
  atRest: (world) => {
    const db = databaseIn(world);
    const backup = db?.spec.restoreFrom?.backup;
    if (backup === undefined || db?.status?.restore?.phase !== "Done") return undefined;
    const name = backupsIn(world).find(({ metadata }) => metadata.name === backup)?.status?.name;
    const server = serving(world);
    if (!server || name === undefined) return undefined;
    if (server.files.lineage !== name)
      return `${backup} is said to be restored, and the data came from ${server.files.lineage || "no backup"}`;
    const dump = dumpNamed(world, name);
    const lost = [...(dump?.keys ?? [])].find(
      ([key, value]) => Number(server.files.keys.get(key) ?? -1) < Number(value),
    );
    return (
      lost && `${lost[0]} is ${lost[1]} in ${backup} and ${server.files.keys.get(lost[0])} in the database`
    );
  },
};

/** A volume that is filled is given to nobody else: on one node both would write to it. */
const oneWriter: RedisOracle = {
  name: "nobody else uses a volume while a restore fills it",
  always: ({ application, stored }) => {
    if (application.filling.size === 0) return undefined;
    const pods = (stored.list("pods", ref.namespace) as unknown as PodObject[]).filter(
      ({ status }) => !/^(Succeeded|Failed)$/.test(status?.phase ?? ""),
    );
    const filling = pods.filter(({ metadata }) => application.filling.has(metadata.name));
    for (const one of filling) {
      const other = pods.find((each) => each !== one && dataClaimOf(each) === dataClaimOf(one));
      if (other) return `${one.metadata.name} and ${other.metadata.name} have ${dataClaimOf(one)}`;
    }
    return undefined;
  },
};

function dataClaimOf({ metadata, spec }: PodObject): string {
  const data = spec?.volumes?.find(({ name }) => name === "data");
  return data?.persistentVolumeClaim?.claimName ?? `none of ${metadata.name}`;
}

/** What is said to be proven can be restored. */
const proven: RedisOracle = {
  name: "a backup that is Done is in its store",
  atRest: (world) => {
    // What is on a volume goes with it.
    if (world.trace.some(({ text }) => text.startsWith("volume: destroyed"))) return undefined;
    const gone = backupsIn(world).find(
      ({ status }) => status?.phase === "Done" && dumpNamed(world, status.name)?.verified !== true,
    );
    return gone && `${gone.metadata.name} is not there as ${gone.status?.name}`;
  },
};

export const oracles: readonly RedisOracle[] = [
  // Not what must hold, but what every world needs: this is called when it begins.
  { name: "pods are made for StatefulSets and Jobs", attach: startWorkloads },
  onePrimary,
  closedUntilVerified,
  leftBehind,
  restored,
  oneWriter,
  proven,
  {
    name: "Redis is treated as it must be",
    always: ({ application }) => application.violations[0],
  },
];
