/** What an EtcdCluster and its backups say of data, compared with what lies on volumes and in the store. */
import type { KeptData, Oracle, World } from "@keelson/testing";
import type { EtcdBackupObject } from "../../src/api/backup.ts";
import type { EtcdClusterObject } from "../../src/api/cluster.ts";
import { reasons } from "../../src/api/conditions.ts";
import type { SimEtcd } from "../simulation/etcd.ts";
import type { DataDirectory, Entry } from "../simulation/raft.ts";

type EtcdOracle = Oracle<SimEtcd>;
type EtcdWorld = World<SimEtcd>;

type Status = NonNullable<EtcdClusterObject["status"]>;

/** What is said of the volume of one member. */
const losses =
  /([\w-]+): (its volume is gone|its volume is lost|its volume was replaced by another|its volume is empty|its data is corrupt|its volume is being deleted)/g;

/** What the status says of data is what lies on the volumes. */
const dataIsThere: EtcdOracle = {
  name: "what is said of data is true",
  eventually: {
    withinMs: 30_000,
    check: (world) => {
      const { conditions = [], recovery } = (world.primary?.status ?? {}) as Status;
      const intact = intactVolumes(world);
      for (const { type, reason, message } of conditions.filter((each) => each.message !== "")) {
        const said = `${type} says "${message}"`;
        for (const [words, name = ""] of message.matchAll(losses))
          if (intact.includes(name)) return `${said}: ${words}, but it has all its data`;
        // A learner may lack data, and no cluster can be made from it: that it is there must be said.
        const other = intact.find((name) => !message.includes(`the learner ${name}`));
        if (reason === reasons.allDataLost && other !== undefined)
          return `${said}, but ${other} has all its data`;
        const gone = goneClaim(world);
        if (message.includes(", all data is kept") && gone !== undefined)
          return `${said}, but the claim of ${gone} is gone`;
      }
      const isOffered = world.condition("Ready")?.reason === reasons.quorumLost;
      return isOffered && recovery?.phase === "Proposed" ? untrueOffer(world, recovery) : undefined;
    },
  },
};

/** A survivor is offered for what it has. */
function untrueOffer(
  world: EtcdWorld,
  { survivor, revision }: NonNullable<Status["recovery"]>,
): string | undefined {
  const data = volumeOf(world, survivor)?.data as DataDirectory | undefined;
  if (!data) return `a recovery from ${survivor} is offered, which has no data`;
  const has = data.group.revision(data.index);
  return revision === "unknown" || revision === String(has)
    ? undefined
    : `a recovery from ${survivor} at revision ${revision} is offered, and it has revision ${has}`;
}

/** A voter without a claim. What happens to a volume while no pod runs on it, nobody can see. */
function goneClaim({ application, stored, subject }: EtcdWorld): string | undefined {
  if (application.groups.size === 0) return undefined;
  return application.group
    .voters()
    .find(
      ({ name }) =>
        name.startsWith(`${subject.ref.name}-`) &&
        !stored.get("persistentvolumeclaims", name, subject.ref.namespace),
    )?.name;
}

function volumeOf({ simulation, subject }: EtcdWorld, claim: string) {
  return simulation.volumes.of(subject.ref.namespace, claim);
}

/** Claims whose volume holds a directory of a member of the present cluster. */
export function intactVolumes(world: EtcdWorld): string[] {
  const { stored, application } = world;
  return stored.list("persistentvolumeclaims", world.subject.ref.namespace).flatMap(({ metadata }) => {
    const volume = volumeOf(world, metadata.name);
    const data = volume?.data as DataDirectory | undefined;
    if (!data || volume?.corrupt || metadata.deletionTimestamp !== undefined) return [];
    const current = application.groups.get(data.group.clusterId) === data.group;
    return current && data.group.members().has(data.memberId) ? [metadata.name] : [];
  });
}

/** A member whose data is intact is not removed for having lost it. */
const noEviction: EtcdOracle = {
  name: "no member with its data is removed for having lost it",
  attach: (world) => {
    const seen = new Set<string>();
    world.stored.subscribe(world.subject.resource, () => {
      const { members = [] } = (world.primary?.status ?? {}) as Status;
      for (const { name, id, phase, message = "" } of members) {
        const member = `${name}/${id}`;
        if (phase !== "Leaving" || !/volume|data/.test(message) || seen.has(member)) continue;
        seen.add(member);
        if (/not that of the majority|was never made/.test(message)) continue;
        if (intactVolumes(world).includes(name))
          world.violate(noEviction.name, `${name} is to leave: ${message}`);
      }
    });
  },
};

/** A backup that is Done can be restored: it lies in the store, as its status says. */
const backupsAreThere: EtcdOracle = {
  name: "every backup that is done lies in the store",
  atRest: ({ stored, application, subject }) => {
    for (const { metadata, spec, status } of backupsOf(stored.list(backups, subject.ref.namespace))) {
      if (status?.phase !== "Done") continue;
      const { name } = metadata;
      const found = application.tasks.vault.get(status.name ?? "");
      if (!found) return `EtcdBackup ${name} is done, and ${status.name} is not in the store`;
      const { revisionAtLeast, verified } = found.manifest;
      if (status.revision !== revisionAtLeast)
        return `EtcdBackup ${name} says revision ${status.revision}, and the store has ${revisionAtLeast}`;
      if (spec.verify && (!verified || status.verifiedAt === undefined))
        return `EtcdBackup ${name} is done, and nobody verified it`;
    }
    return undefined;
  },
};

const backups = "etcd.keelson.dev/etcdbackups";

function backupsOf(objects: readonly object[]): readonly EtcdBackupObject[] {
  return objects as readonly EtcdBackupObject[];
}

const lastSeen = "lastSeen";

/** Nothing goes before the backup that was asked for is done, unless a person gave that up. */
const finalBackupFirst: EtcdOracle = {
  name: "a cluster goes only after its final backup",
  attach: (world) => {
    world.stored.subscribe(world.subject.resource, ({ object }) => world.notes.set(lastSeen, object));
  },
  atRest: (world) => {
    const last = lastOf(world);
    if (world.primary || !last?.spec.deletion.finalBackup || world.notes.get("mayHaveLost") === true)
      return undefined;
    if (last.status?.clusterId === undefined) return undefined;
    return finalBackupOf(world, last)?.status?.verifiedAt === undefined
      ? `${last.metadata.name} is gone, and it has no final backup that was verified`
      : undefined;
  },
};

/** The cluster as it was when it went. */
export function lastOf(world: EtcdWorld): EtcdClusterObject | undefined {
  return world.notes.get(lastSeen) as EtcdClusterObject | undefined;
}

/** What has to be left of a cluster that was deleted: on its volumes, and in its final backup. */
export function keptData(world: EtcdWorld): readonly KeptData[] {
  const last = lastOf(world);
  if (!last || world.application.groups.size === 0) return [];
  const { volumes, finalBackup } = last.spec.deletion;
  return [
    ...(volumes === "Remove" ? [] : [onVolumes(world)]),
    ...(finalBackup ? [inFinalBackup(world, last)] : []),
  ];
}

/** A cluster that goes on from these volumes has what the best of a majority has. */
function onVolumes(world: EtcdWorld): KeptData {
  const { group } = world.application;
  const kept = intactVolumes(world).flatMap((name) => {
    const data = volumeOf(world, name)?.data as DataDirectory | undefined;
    return data?.group === group && group.voters().some(({ id }) => id === data.memberId) ? [data] : [];
  });
  const isEnough = 2 * kept.length > group.voters().length;
  const index = isEnough ? Math.max(...kept.map((data) => data.index)) : 0;
  const where = `on ${kept.length} of ${group.voters().length} volumes that are kept`;
  return { where, data: dataOf(group.log.slice(0, index)) };
}

function inFinalBackup(world: EtcdWorld, last: EtcdClusterObject): KeptData {
  const final = finalBackupOf(world, last);
  const found = world.application.tasks.vault.get(final?.status?.name ?? "");
  const where = final
    ? `in the final backup ${final.metadata.name}`
    : "in a final backup, which is not there";
  return { where, data: dataOf(found?.entries ?? []) };
}

/** One that is done. Its name tells of which cluster it is, where one of the same name went before. */
function finalBackupOf({ stored }: EtcdWorld, { metadata }: EtcdClusterObject): EtcdBackupObject | undefined {
  const prefix = `${metadata.name}-final-${metadata.uid.slice(0, 8)}`;
  return backupsOf(stored.list(backups, metadata.namespace)).find(
    ({ metadata: { name }, status }) => name.startsWith(prefix) && status?.phase === "Done",
  );
}

function dataOf(entries: readonly Entry[]): ReadonlyMap<string, string> {
  return new Map(entries.flatMap((each) => (each.type === "put" ? [[each.key, each.value] as const] : [])));
}

export const dataOracles: readonly EtcdOracle[] = [
  dataIsThere,
  noEviction,
  backupsAreThere,
  finalBackupFirst,
];
