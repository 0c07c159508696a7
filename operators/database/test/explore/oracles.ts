/** What must hold for a Database, beside what must hold for anything. */
import { isDeepStrictEqual } from "node:util";
import { clientName, type Oracle, operatorName, type World } from "@keelson/testing";
import type { DatabaseBackupObject } from "../../src/api/backup.ts";
import { conditions, reasons } from "../../src/api/conditions.ts";
import { labels } from "../../src/api/names.ts";
import { settable } from "../../src/resources/parameters.ts";
import type { Entry } from "../simulation/server.ts";
import { acknowledgedIn, settled } from "./acknowledged.ts";
import { dataOf, type Files, type SimPostgres } from "./application.ts";
import { keyInStore, type SimInstance } from "./instance.ts";
import { specOf, statusOf } from "./scene.ts";

type DatabaseOracle = Oracle<SimPostgres>;
type PostgresWorld = World<SimPostgres>;

/** How long a status may lag behind the world while the operator can see it. */
const statusLagMs = 45_000;

const onePrimary: DatabaseOracle = {
  name: "two primaries never acknowledge",
  always: ({ application }) => application.violations[0],
};

/** Where the Service of the writers leads. */
export function serving({ simulation, application, subject }: PostgresWorld): SimInstance | undefined {
  return simulation
    .endpoints(subject.ref.namespace, subject.ref.name)
    .map(({ metadata }) => application.instance(metadata.name))
    .find((instance) => instance && !instance.isFrozen && instance.server.isPrimary);
}

function isThere({ primary }: PostgresWorld): boolean {
  return primary !== undefined && primary.metadata.deletionTimestamp === undefined;
}

/** Available is a promise as well. */
const available: DatabaseOracle = {
  name: "Available says whether a primary accepts writes",
  eventually: {
    withinMs: statusLagMs,
    check: (world) => {
      const said = world.condition(conditions.available)?.status;
      if (said === undefined || !isThere(world)) return undefined;
      const primaries = [...world.application.pods].filter(
        ({ server, isFrozen, disk }) => server.isPrimary && !isFrozen && !disk.isFull,
      );
      if (said === "True" && primaries.length === 0) return "Available=True, and nobody is primary";
      const { network } = world.simulation;
      const instance = serving(world);
      const isReached = (from: string) => instance && network.connected(from, instance.name);
      // What keeps the operator or the clients from it, it cannot know or need not.
      return said === "False" && isReached(operatorName) && isReached(clientName)
        ? "Available=False, and a primary serves"
        : undefined;
    },
  },
};

/** Protected=True promises that the loss of the primary loses nothing, and that somebody can take over. */
const isProtected: DatabaseOracle = {
  name: "Protected=True means that every acknowledged commit is on another instance",
  eventually: {
    withinMs: statusLagMs,
    check: (world) => {
      const instance = serving(world);
      if (world.condition(conditions.protected)?.status !== "True" || !instance || !isThere(world))
        return undefined;
      const others = [...world.application.pods].filter((each) => each !== instance && !each.disk.isCorrupt);
      const acknowledged = instance.server.acknowledgedLog;
      const has = (log: readonly Entry[]) => acknowledged.every((entry, at) => log[at] === entry);
      return others.some(({ server }) => has(server.data?.log ?? []))
        ? undefined
        : `Protected=True, and nobody but ${instance.name} has its ${acknowledged.length} commits`;
    },
  },
};

/** A drain may take one instance at a time. */
const budget: DatabaseOracle = {
  name: "the disruption budget lets one instance go",
  atRest: (world) => {
    const { stored, subject } = world;
    if (!isThere(world)) return undefined;
    const found = stored.get("policy/poddisruptionbudgets", subject.ref.name, subject.ref.namespace) as
      | { spec?: { minAvailable?: number } }
      | undefined;
    const instances = specOf(world.primary)?.instances ?? 0;
    const least = instances > 1 ? instances - 1 : 0;
    return found?.spec?.minAvailable === least
      ? undefined
      : `minAvailable is ${found?.spec?.minAvailable}, not ${least}`;
  },
};

const oneLabel: DatabaseOracle = {
  name: "one pod is labelled as the primary",
  atRest: (world) => {
    if (!isThere(world) || specOf(world.primary)?.hibernate) return undefined;
    const labelled = world.pods.filter(({ metadata }) => metadata.labels?.[labels.role] === "primary");
    const names = labelled.map(({ metadata }) => metadata.name);
    return names.join() === statusOf(world.primary).primary ? undefined : `labelled are: ${names.join()}`;
  },
};

/** A person who sees Ready relies on the settings that were asked for. */
const settingsTaken: DatabaseOracle = {
  name: "Ready=True means that every instance knows the settings of the spec",
  attach: (world) => {
    let before: number | undefined;
    world.stored.subscribe(world.subject.resource, () => {
      const said = world.isReady ? world.observedGeneration : undefined;
      const isNew = said !== before;
      before = said;
      const spec = specOf(world.primary);
      if (said === undefined || !isNew || !spec || spec.hibernate) return;
      const members = statusOf(world.primary).members?.map(({ name }) => name) ?? [];
      const behind = [...world.application.pods].find(
        ({ name, server: { taken } }) =>
          taken && members.includes(name) && !isDeepStrictEqual(taken, settable(spec)),
      );
      if (behind)
        world.violate(settingsTaken.name, `${behind.name} has ${JSON.stringify(behind.server.taken)}`);
    });
  },
};

/** Epochs count primaries: an older one never comes back. */
const epochRises: DatabaseOracle = {
  name: "the epoch never goes back",
  attach: (world) => {
    let newest = { uid: "", epoch: 0 };
    world.stored.subscribe(world.subject.resource, () => {
      const uid = world.primary?.metadata.uid ?? "";
      const { epoch } = statusOf(world.primary);
      if (epoch === undefined) return;
      if (uid === newest.uid && epoch < newest.epoch)
        world.violate("the epoch never goes back", `${newest.epoch} became ${epoch}`);
      newest = { uid, epoch };
    });
  },
};

/** With async a failover may lose what was acknowledged; but then it says so. */
const lossIsTold: DatabaseOracle = {
  name: "a loss is told",
  attach: (world) => {
    world.stored.subscribe(world.subject.resource, () => {
      if (statusOf(world.primary).lastFailover?.mayHaveLost) world.notes.set("lossTold", true);
    });
  },
  atRest: (world) => {
    const log = serving(world)?.server.data?.log;
    if (!log || !isThere(world) || world.notes.get("mayHaveLost") === true) return undefined;
    const data = settled(dataOf(log), acknowledgedIn(world));
    const lost = [...acknowledgedIn(world)].find(([key, value]) => data.get(key) !== value);
    return lost && world.notes.get("lossTold") !== true
      ? `${lost[0]}=${lost[1]} is lost, and no failover said that it may have lost something`
      : undefined;
  },
};

/** What is said of data is what lies on the volumes. */
const dataIsThere: DatabaseOracle = {
  name: "what is said of data is true",
  eventually: {
    withinMs: 30_000,
    check: (world) => {
      if (world.condition("Ready")?.reason !== reasons.dataMissing) return undefined;
      const { stored, simulation, subject } = world;
      const intact = stored
        .list("persistentvolumeclaims", subject.ref.namespace)
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .find(({ metadata }) => {
          const volume = simulation.volumes.of(subject.ref.namespace, metadata.name);
          const data = (volume?.data as Files | undefined)?.data;
          return data !== undefined && data.timelineEpoch >= 0 && volume?.corrupt !== true;
        });
      return intact && `no instance has data, it says, but ${intact.metadata.name} has`;
    },
  },
};

/** A backup that is Done has everything that was acknowledged before it was asked for. */
const backupsAreWhole: DatabaseOracle = {
  name: "a backup has everything from before it",
  attach: (world) => {
    const before = new Map<string, ReadonlyMap<string, string>>();
    const resource = "database.keelson.dev/databasebackups";
    world.stored.subscribe(resource, ({ object }) => {
      const { name } = object.metadata;
      const { phase, location } = (object.status ?? {}) as NonNullable<DatabaseBackupObject["status"]>;
      if (phase === undefined && !before.has(name)) before.set(name, new Map(acknowledgedIn(world)));
      const wanted = before.get(name);
      if (phase !== "Done" || !wanted) return;
      before.delete(name);
      const place = keyInStore(location?.claim, location?.directory, location?.name);
      const found = world.application.store.get(place);
      if (!found) return world.violate("a backup has everything from before it", `there is no ${place}`);
      if (world.notes.get("mayHaveLost") === true) return;
      if (specOf(world.primary)?.durability === "async") return;
      const data = settled(dataOf(found.log), wanted);
      const lost = [...wanted].find(([key, value]) => data.get(key) !== value);
      if (lost)
        world.violate(
          "a backup has everything from before it",
          `${name} has ${lost[0]}=${data.get(lost[0])}, acknowledged was ${lost[1]}`,
        );
    });
  },
};

/** Whoever made it: a restore that begins finds the backup that it names. */
const backupsAreFound: DatabaseOracle = {
  name: "a restore in place finds its backup",
  attach: (world) => {
    world.stored.subscribe(world.subject.resource, () => {
      const { message = "" } = statusOf(world.primary).restore ?? {};
      if (/there is no backup|no store for backups/.test(message))
        world.violate("a restore in place finds its backup", message);
    });
  },
};

/** A Database that is gone with its volumes has left a backup of everything that was acknowledged. */
const lastBackup: DatabaseOracle = {
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

export const oracles: readonly DatabaseOracle[] = [
  onePrimary,
  available,
  isProtected,
  budget,
  oneLabel,
  settingsTaken,
  epochRises,
  lossIsTold,
  dataIsThere,
  backupsAreWhole,
  backupsAreFound,
  lastBackup,
];
