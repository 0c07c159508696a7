/** What users do to a Database. */
import { anywhere, type Disturbance, pick, type Scene, type Subject } from "@keelson/testing";
import { isApiError } from "keelson";
import { Lease, Secret, Service } from "keelson/kinds";
import { DatabaseBackup } from "../../src/api/backup.ts";
import { Database } from "../../src/api/database.ts";
import { leaseName } from "../../src/ha/lease-object.ts";
import { refused } from "../simulation/server.ts";
import type { SimPostgres } from "./application.ts";
import { change, neverTakenOver, specOf } from "./scene.ts";

type Edit = Disturbance<SimPostgres>;
type Choose = NonNullable<Edit["choose"]>;

function edit(name: string, choose: Choose): Edit {
  return anywhere({ name, weight: 2, choose, begin: async (scene, spec) => await change(scene, spec) });
}

/** For a while. */
function passing(name: string, spec: object, back: object): Edit {
  return anywhere({
    name,
    lastsMs: 180_000,
    begin: async (scene) => {
      await change(scene, spec);
      return () => change(scene, back);
    },
  });
}

function annotation(name: string, key: string, value: (random: Parameters<Choose>[0]) => string): Edit {
  return anywhere({
    name,
    choose: (random) => ({ value: value(random) }),
    begin: async (world, args) => {
      if (!world.primary) return;
      const body = { metadata: { annotations: { [`database.keelson.dev/${key}`]: String(args["value"]) } } };
      await world.client.kind(Database).patch(world.subject.ref, { type: "merge", body });
    },
  });
}

const anything = (random: Parameters<Choose>[0]) => String(random.next()).slice(2, 8);

const deleted = anywhere({
  name: "edit: deleted",
  weight: 0.5,
  choose: (random) => ({
    propagation: pick(["Background", "Foreground"], random),
    onDelete: pick(["Snapshot", "Retain", "Delete"], random),
  }),
  begin: async (world, { propagation, onDelete }) => {
    if (!world.primary) return;
    await change(world, { onDelete });
    const { spec, metadata } = world.primary;
    const { namespace, name } = world.subject.ref;
    const services = await Promise.all(
      [name, `${name}-ro`, `${name}-r`].map(
        async (each) => await world.client.kind(Service).find({ namespace, name: each }),
      ),
    );
    const isLeft = services.every(
      (each) => each && !each.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid),
    );
    world.notes.set(neverTakenOver, isLeft);
    world.notes.set("removes", onDelete === "Delete" && !isLeft);
    world.notes.set("snapshot", onDelete === "Snapshot" && spec?.["backup"] !== undefined && !isLeft);
    await world.client
      .kind(Database)
      .delete(world.subject.ref, { propagation: propagation as "Background" | "Foreground" });
  },
});

const orphaned = anywhere({
  name: "edit: deleted with its dependents left alone, and made again",
  weight: 0.5,
  begin: async (world) => {
    if (!world.primary || world.primary.metadata.deletionTimestamp !== undefined) return;
    const kind = world.client.kind(Database);
    const spec = { ...world.primary.spec };
    await kind.delete(world.subject.ref, { propagation: "Orphan" });
    for (let seconds = 0; seconds < 120 && world.primary; seconds += 5) await world.advance(5_000);
    if (!world.primary) await kind.create({ metadata: world.subject.ref, spec: spec as never });
    else world.notes.set(toMakeAgain, spec);
  },
});

const toMakeAgain = "to be made again";

/** As long as nobody lets go of a Database, no other of its name can be made: an operator may be stopped meanwhile. */
export async function makeAgain(world: Scene): Promise<void> {
  const spec = world.notes.get(toMakeAgain);
  if (spec === undefined) return;
  for (let seconds = 0; seconds < 300 && world.primary; seconds += 5) await world.advance(5_000);
  await world.client.kind(Database).create({ metadata: world.subject.ref, spec: spec as never });
}

const leaseOf = ({ subject: { ref } }: { readonly subject: Pick<Subject<SimPostgres>, "ref"> }) => ({
  ...ref,
  name: leaseName(ref.name),
});

/** As by a person, or a restore of the namespace that leaves Leases out. */
const leaseLost = anywhere({
  name: "by hand: the Lease is deleted",
  begin: async (world) => {
    await world.client.kind(Lease).delete(leaseOf(world)).catch(ignoreAbsent);
  },
});

/** As by a restore of the API server: the volumes are of now. */
const leaseOld = anywhere({
  name: "by hand: the Lease is put back to what it was",
  lastsMs: 180_000,
  begin: async (world) => {
    const leases = world.client.kind(Lease);
    const before = await leases.find(leaseOf(world));
    if (!before) return;
    return async () => {
      const { holderIdentity = null, leaseTransitions = null, renewTime = null } = before.spec ?? {};
      const body = {
        metadata: { annotations: before.metadata.annotations },
        spec: { holderIdentity, leaseTransitions, renewTime },
      };
      await leases.patch(leaseOf(world), { type: "merge", body: body as never }).catch(ignoreAbsent);
    };
  },
});

function ignoreAbsent(error: unknown): void {
  if (!(isApiError(error) && error.code === 404)) throw error;
}

const backedUp = anywhere({
  name: "edit: a backup is asked for",
  choose: (random) => ({ name: `asked-${anything(random)}` }),
  begin: async (world, { name }) => {
    if (!specOf(world.primary)?.backup) return;
    const { namespace } = world.subject.ref;
    await world.client.kind(DatabaseBackup).create({
      metadata: { namespace, name: String(name) },
      spec: { database: world.subject.ref.name } as never,
    });
  },
});

/** To a backup that is taken for it. Users know that they go back: what came after it is gone. */
const restored = anywhere({
  name: "edit: restored in place",
  choose: (random) => ({ id: anything(random) }),
  begin: async (world, { id }) => {
    if (!specOf(world.primary)?.backup) return;
    world.notes.set("mayHaveLost", true);
    const { namespace, name: database } = world.subject.ref;
    const backup = `base-${id}`;
    await world.client
      .kind(DatabaseBackup)
      .create({ metadata: { namespace, name: backup }, spec: { database } as never });
    await change(world, { restoreInPlace: { id, backup } });
  },
});

/** To one that may be older than the Database itself, which took its data over. */
const restoredToOldest = anywhere({
  name: "edit: restored in place to the oldest backup",
  weight: 0.5,
  choose: (random) => ({ id: anything(random) }),
  begin: async (world, { id }) => {
    const { namespace } = world.subject.ref;
    const { items } = await world.client.kind(DatabaseBackup).list({ namespace });
    const [oldest] = items
      .filter(({ status }) => status?.phase === "Done")
      .sort((a, b) => ((a.status?.finishedAt ?? "") < (b.status?.finishedAt ?? "") ? -1 : 1));
    if (!oldest) return;
    world.notes.set("mayHaveLost", true);
    await change(world, { restoreInPlace: { id, backup: oldest.metadata.name } });
  },
});

/** A role whose Secret comes late, or holds another password than before. */
const roleAdded = anywhere({
  name: "edit: a role whose Secret is missing",
  lastsMs: 120_000,
  choose: (random) => ({ password: anything(random) }),
  begin: async (world, { password }) => {
    const where = { namespace: world.subject.ref.namespace, name: "reporting" };
    await change(world, { roles: [{ name: "reporting", passwordSecret: where.name }] });
    const data = { password: Buffer.from(String(password)).toString("base64") };
    return async () =>
      void (await world.client.kind(Secret).apply({ metadata: where, type: "Opaque", data }));
  },
});

/** Changed and taken back at once, or nearly. */
const flipped = anywhere({
  name: "edit: changed and taken back",
  weight: 2,
  choose: (random) => ({
    instances: pick([1, 2, 4, 5], random),
    afterMs: pick([0, 300, 5_000, 40_000], random),
  }),
  begin: async (world, { instances, afterMs }) => {
    const before = specOf(world.primary)?.instances;
    await change(world, { instances });
    world.clock.timer(Number(afterMs), () => void change(world, { instances: before }));
  },
});

export const edits: readonly Edit[] = [
  edit("edit: instances", (random) => ({ instances: pick([1, 2, 3, 3, 4, 5], random) })),
  edit("edit: durability", (random) => ({ durability: pick(["quorum", "quorum", "all"], random) })),
  edit("edit: a setting that needs a restart", (random) => ({
    parameters: { max_connections: String(pick([50, 100, 150], random)) },
  })),
  edit("edit: a setting that is reloaded", (random) => ({
    parameters: { work_mem: pick(["4MB", "8MB"], random) },
  })),
  edit("edit: a label of pods", (random) => ({ pod: { labels: { team: pick(["a", "b"], random) } } })),
  passing(
    "edit: a setting that PostgreSQL refuses",
    { parameters: { shared_buffers: refused } },
    { parameters: { shared_buffers: null } },
  ),
  passing(
    "edit: nodes that do not exist",
    { pod: { nodeSelector: { pool: "gone" } } },
    { pod: { nodeSelector: null } },
  ),
  passing("edit: paused", { paused: true }, { paused: false }),
  passing("edit: hibernated", { hibernate: true }, { hibernate: false }),
  anywhere({
    name: "edit: a restore in place that fails",
    lastsMs: 180_000,
    choose: (random) => ({ id: anything(random) }),
    begin: async (world, { id }) => {
      await change(world, { restoreInPlace: { id, undo: true } });
      return () => change(world, { restoreInPlace: null });
    },
  }),
  {
    name: "edit: a version that does not start",
    lastsMs: 180_000,
    begin: async (world) => {
      world.application.brokenVersions.add("15.99");
      const before = specOf(world.primary)?.version;
      await change(world, { version: "15.99" });
      return () => change(world, { version: before });
    },
  },
  edit("edit: a newer major version", () => ({ version: "17.1" })),
  {
    name: "edit: a newer major version whose rehearsal fails",
    lastsMs: 180_000,
    begin: async (world) => {
      const before = specOf(world.primary)?.version;
      world.application.isRehearsalBroken = true;
      await change(world, { version: "17.1" });
      return async () => {
        world.application.isRehearsalBroken = false;
        await change(world, { version: before });
      };
    },
  },
  annotation("edit: a failed upgrade is tried again", "retry-upgrade", anything),
  annotation("edit: a switchover is asked for", "switchover", (random) =>
    pick(["any", "orders-0", "orders-1", "orders-2", `any@${anything(random)}`], random),
  ),
  annotation("edit: passwords are rotated", "rotate-passwords", anything),
  annotation("edit: the authority is replaced", "rotate-authority", anything),
  edit("edit: resources", (random) => ({
    resources: { requests: { cpu: pick(["10m", "20m"], random) } },
  })),
  edit("edit: how long a silent primary stays primary", (random) => ({
    failover: { leaseSeconds: pick([5, 8, 12], random) },
  })),
  edit("edit: storage", (random) => ({ storage: { size: pick(["1Gi", "2Gi", "3Gi"], random) } })),
  edit("edit: backups come or go", (random) => ({
    backup: pick([null, { store: { claim: { name: "backups" } } }], random),
  })),
  anywhere({
    name: "edit: backups lie elsewhere",
    choose: (random) => ({ path: pick(["", "second"], random) }),
    begin: async (scene, { path }) => {
      if (specOf(scene.primary)?.backup)
        await change(scene, { backup: { store: { claim: { name: "backups", path } } } });
    },
  }),
  {
    name: "edit: a newer minor version",
    weight: 2,
    choose: (random) => ({ minor: pick(["2", "3"], random) }),
    begin: async (world, { minor }) => {
      const [major] = (specOf(world.primary)?.version ?? "15").split(".");
      await change(world, { version: `${major}.${minor}` });
    },
  },
  {
    name: "edit: a backup every minute",
    lastsMs: 240_000,
    begin: async (world) => {
      if (!specOf(world.primary)?.backup) return;
      await change(world, { backup: { schedule: "* * * * *", keep: 2 } });
      return async () => {
        if (specOf(world.primary)?.backup) await change(world, { backup: { schedule: null } });
      };
    },
  },
  { ...edit("edit: TLS", (random) => ({ tls: { require: random.next() < 0.5 } })), anywhere: false },
  { ...passing("edit: a pooler", { pooler: { instances: 1 } }, { pooler: null }), anywhere: false },
  flipped,
  roleAdded,
  restored,
  restoredToOldest,
  backedUp,
  deleted,
  orphaned,
  leaseLost,
  leaseOld,
];
