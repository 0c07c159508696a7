/** What users of a SampleDB do. */
import { type Disturbance, pick } from "@keelson/testing";
import { PersistentVolumeClaim, Secret } from "keelson/kinds";
import { SampleDBBackup } from "../../src/api/backup.ts";
import { SampleDB } from "../../src/api/sampledb.ts";
import { failingScript } from "./agent.ts";
import type { SimRedis } from "./application.ts";
import {
  allowLoss,
  annotate,
  backupsIn,
  change,
  databaseIn,
  isBeingDeleted,
  type RedisWorld,
  ref,
} from "./database.ts";
import { givenCertificateEdits } from "./given-certificate.ts";

type Edit = Disturbance<SimRedis>;
type Choose = NonNullable<Edit["choose"]>;

function edit(name: string, choose: Choose, weight = 2): Edit {
  return { name, weight, choose, begin: async (world, spec) => await change(world, spec) };
}

function annotation(name: string, key: string, value: (random: Parameters<Choose>[0]) => string): Edit {
  return {
    name,
    choose: (random) => ({ value: value(random) }),
    begin: async (world, args) => await annotate(world, { [key]: String(args["value"]) }),
  };
}

function lasting(name: string, lastsMs: number, begin: Edit["begin"]): Edit {
  return { name, lastsMs, begin };
}

function migration(script: string) {
  return { version: 1, name: "change", since: "8.0", script };
}

const shape: readonly Edit[] = [
  edit("edit: replicas", (random) => ({ replicas: pick([0, 1, 1, 2, 3], random) })),
  edit("edit: how many must acknowledge", (random) => ({
    durability: { acknowledgements: pick([1, 1, 2], random), maxLagSeconds: pick([3, 10], random) },
  })),
  edit("edit: storage", (random) => ({ storage: { size: pick(["1Gi", "2Gi", "3Gi"], random) } }), 1),
  edit("edit: users and seed data", (random) => ({
    users: pick([[], [{ name: "reports", passwordKey: "reports", rules: "~* +@read" }]], random),
    initialize: { functions: [], commands: pick([[], [["SET", "seeded", "1"]]], random) },
  })),
];

const settings: readonly Edit[] = [
  edit("edit: a setting that needs a restart", (random) => ({
    settings: { "tcp-backlog": String(511 + pick([1, 2, 3, 4], random)) },
  })),
  edit("edit: a live setting", (random) => ({ settings: { timeout: String(pick([0, 60, 120], random)) } })),
  lasting("edit: a setting that no server starts with", 180_000, async (world) => {
    world.application.badSettings.add("databases 99999");
    await change(world, { settings: { databases: "99999" } });
    return () => change(world, { settings: null });
  }),
  lasting("edit: nodes that do not exist", 180_000, async (world) => {
    await change(world, { pod: { nodeSelector: { pool: "gone" } } });
    return () => change(world, { pod: { nodeSelector: null } });
  }),
  lasting("edit: paused", 120_000, async (world) => {
    await change(world, { paused: true });
    return () => change(world, { paused: false });
  }),
];

const versions: readonly Edit[] = [
  edit("edit: a newer version", (random) => ({
    version: "8.0",
    migrations: pick([[], [], [migration("return 1")], [migration(failingScript)]], random),
  })),
  // The one before again, which gives an upgrade up or is refused; or one that skips a major.
  edit("edit: another version", (random) => ({ version: pick(["7.0", "8.0", "9.0"], random) }), 1),
  lasting("edit: a newer version, whose image is missing", 180_000, async (world) => {
    const { missingImages } = world.simulation.kubelet;
    missingImages.add("redis:8.0");
    await change(world, { version: "8.0", migrations: [] });
    return () => void missingImages.delete("redis:8.0");
  }),
];

/** The Secret that a person keeps passwords in. */
export const givenCredentials = "given-credentials";
const credentialsRef = { namespace: ref.namespace, name: givenCredentials };

export async function giveCredentials(world: RedisWorld, password: string): Promise<void> {
  const encoded = Buffer.from(password).toString("base64");
  const data = { password: encoded, reports: encoded };
  if (await world.client.kind(Secret).find(credentialsRef))
    await world.client.kind(Secret).patch(credentialsRef, { type: "merge", body: { data } });
  else await world.client.kind(Secret).create({ metadata: credentialsRef, data });
}

const access: readonly Edit[] = [
  edit("edit: TLS is switched on or off", (random) => ({ tls: pick([{}, {}, null], random) })),
  ...givenCertificateEdits,
  annotation("edit: another authority is asked for", "sampledb.keelson.dev/rotate-authorities", (random) =>
    String(random.next()).slice(2, 8),
  ),
  annotation("edit: passwords are rotated", "sampledb.keelson.dev/rotate-passwords", (random) =>
    String(random.next()).slice(2, 8),
  ),
  {
    name: "edit: a password is given, or the given one is changed",
    choose: (random) => ({ password: `given-${String(random.next()).slice(2, 14)}` }),
    begin: async (world, { password }) => {
      await giveCredentials(world, String(password));
      await change(world, { credentialsSecret: givenCredentials });
    },
  },
  lasting("edit: the Secret with the given password is deleted", 120_000, async (world) => {
    const found = await world.client.kind(Secret).find(credentialsRef);
    if (!found) return;
    await world.client.kind(Secret).delete(credentialsRef);
    const password = Buffer.from(found.data?.["password"] ?? "", "base64").toString();
    return async () => await giveCredentials(world, password);
  }),
  annotation("edit: a handover is asked for", "sampledb.keelson.dev/hand-over-to", (random) =>
    pick(["db-0", "db-1", "db-2"], random),
  ),
];

const backups: readonly Edit[] = [
  {
    name: "edit: backups are asked for",
    choose: (random) => ({ count: pick([1, 1, 3], random), primary: random.next() < 0.3 }),
    begin: async (world, { count, primary }) => {
      const before = Number(world.notes.get("backups") ?? 0);
      world.notes.set("backups", before + Number(count));
      for (let nth = before; nth < before + Number(count); nth++)
        await world.client.kind(SampleDBBackup).create(
          SampleDBBackup.object({
            metadata: { ...ref, name: `manual-${nth}` },
            spec: { database: ref.name, primary: primary === true },
          }),
        );
    },
  },
  {
    name: "edit: backups every minute",
    lastsMs: 300_000,
    choose: (random) => ({ keep: pick([1, 2, 5], random) }),
    begin: async (world, { keep }) => {
      await change(world, { backup: { schedule: "* * * * *", keep } });
      return () => change(world, { backup: { schedule: null } });
    },
  },
  {
    name: "edit: restored in place",
    choose: (random) => ({ which: random.next(), request: pick(["", "again"], random) }),
    begin: async (world, { which, request }) => {
      const done = backupsIn(world).filter(({ status }) => status?.phase === "Done");
      const chosen = done[Math.floor(Number(which) * done.length)];
      if (!chosen || !world.primary) return;
      world.note(`it is ${chosen.metadata.name}`);
      allowLoss(world);
      const { name } = chosen.metadata;
      await change(world, {
        restoreFrom: { backup: name, request, store: null, name: null, aside: null },
      });
    },
  },
  {
    name: "edit: back to what a restore set aside",
    begin: async (world) => {
      const aside = databaseIn(world)?.status?.restore?.aside;
      if (aside === undefined) return;
      allowLoss(world);
      await change(world, { restoreFrom: { aside, backup: null, store: null, name: null } });
    },
  },
  lasting("edit: restored from a backup that is not there", 120_000, async (world) => {
    const before = databaseIn(world)?.spec.restoreFrom ?? null;
    await change(world, { restoreFrom: { backup: "nobody", aside: null, store: null, name: null } });
    return async () => {
      await change(world, { restoreFrom: null });
      if (before) await change(world, { restoreFrom: before });
    };
  }),
];

/** Takes back what keeps a database from what else was asked for. */
export const feasible = {
  ...{ paused: false, settings: null, pod: { nodeSelector: null }, migrations: null },
  backup: { schedule: null },
};

/** How a database is deleted, and what its spec promises then. */
const chooseEnd: Choose = (random) => ({
  propagation: pick(["Background", "Background", "Foreground", "Orphan"], random),
  onDelete: pick(["Snapshot", "Snapshot", "Retain", "Delete"], random),
});

async function remove(world: RedisWorld, { propagation, onDelete }: Record<string, unknown>): Promise<void> {
  await change(world, { onDelete });
  const leaves = propagation === "Orphan" ? "everything" : String(onDelete);
  world.notes.set("leaves", leaves);
  if (leaves === "Delete") allowLoss(world);
  await world.client.kind(SampleDB).delete(ref, { propagation: propagation as "Background" });
}

const endings: readonly Edit[] = [
  {
    name: "edit: deleted and made again",
    choose: chooseEnd,
    begin: async (world, args) => {
      const db = databaseIn(world);
      if (!db || isBeingDeleted(world) || world.notes.has("remaking")) return;
      world.notes.set("remaking", true);
      await remove(world, args);
      // Who paused the old one sets that one going again.
      const { restoreFrom, paused: _, ...spec } = (databaseIn(world) ?? db).spec;
      const id = db.metadata.uid.slice(0, 8);
      // Nothing was served yet: what it was to be filled from is all there is, and is named again.
      const before = restoreFrom && db.status?.epoch === undefined ? { restoreFrom } : undefined;
      const again = async () => {
        if (world.primary) return void world.clock.timer(1_000, () => void again());
        const snapshot = backupsIn(world).find(
          ({ metadata: { name }, status }) =>
            name.includes("-final-") && name.endsWith(`-${id}`) && status?.phase === "Done",
        );
        const from = snapshot ? { restoreFrom: { backup: snapshot.metadata.name } } : before;
        world.note(`made again${from ? ` from ${from.restoreFrom.backup}` : ""}`);
        await world.client
          .kind(SampleDB)
          .create(SampleDB.object({ metadata: ref, spec: { ...spec, ...from } as never }));
        if (world.notes.has("quiet")) await change(world, feasible);
        world.notes.delete("remaking");
      };
      await again();
    },
  },
  {
    name: "edit: deleted",
    weight: 0.3,
    choose: chooseEnd,
    begin: async (world, args) => {
      if (!world.primary || isBeingDeleted(world) || world.notes.has("remaking")) return;
      await remove(world, args);
    },
  },
];

/** As by a restore of the API server: what runs, and what is on the volumes, is of now. */
const wentBack = lasting(
  "by hand: the status and the marks of volumes are put back",
  180_000,
  async (world) => {
    const uid = databaseIn(world)?.metadata.uid;
    const { status } = structuredClone(databaseIn(world) ?? {}) as { status?: Record<string, unknown> };
    const claims = world.client.kind(PersistentVolumeClaim);
    const before = await claims.list({ namespace: ref.namespace });
    return async () => {
      const now = databaseIn(world);
      if (!status || now?.metadata.uid !== uid || isBeingDeleted(world)) return;
      const operations = [{ op: "add", path: "/status", value: status as never }] as const;
      await world.client.kind(SampleDB).subresource("status").patch(ref, { type: "json", operations });
      for (const { metadata } of before.items) {
        const { namespace, name } = metadata;
        const there = await claims.find({ namespace, name });
        if (there?.metadata.uid !== metadata.uid) continue;
        const own = Object.keys({ ...there.metadata.annotations }).filter((key) =>
          key.includes("sampledb.keelson.dev"),
        );
        const gone = Object.fromEntries(own.map((key) => [key, null]));
        const back = { metadata: { annotations: { ...gone, ...metadata.annotations } } } as never;
        await claims.patch({ namespace, name }, { type: "merge", body: back });
      }
    };
  },
);

export const edits: readonly Edit[] = [
  ...[shape, settings, versions, access, backups, endings].flat(),
  wentBack,
];

export const faults: readonly Edit[] = [
  lasting("backup: the store does not answer", 180_000, (world) => {
    world.application.storeDown = true;
    return () => {
      world.application.storeDown = false;
    };
  }),
];
