/** Eight ways of deleting a Database, and what must be left of it. */
import { Database, DatabaseBackup } from "@keelson/database-operator";
import { Namespace, PersistentVolume } from "keelson/kinds";
import { eventually } from "../operator/eventually.ts";
import type { Ledger } from "./ledger.ts";
import type { Bench, Scenario } from "./scenarios.ts";
import { namespace, type World } from "./world.ts";

const rows = 200;

interface Deletion {
  readonly id: string;
  readonly fault: string;
  /** What is left: a backup that a new Database is restored from, the volumes, or everything as it was. */
  readonly left: "backup" | "volumes" | "everything";
  readonly spec?: object;
  /** What the spec of the Database that takes over the volumes has beside. */
  readonly again?: object;
  /** Too much is lost for another Database to serve what is left. */
  readonly isBeyond?: boolean;
  readonly act: (bench: Pick<Bench, "world" | "name">) => Promise<void>;
}

const policy = (world: World, name: string, propagation: "Background" | "Foreground" | "Orphan") =>
  world.delete(name, { propagation });

const deletions: readonly Deletion[] = [
  {
    id: "delete-background",
    fault: "deleted in the ordinary way",
    left: "backup",
    act: async ({ world, name }) => await policy(world, name, "Background"),
  },
  {
    id: "delete-foreground",
    fault: "deleted in the foreground, as Argo CD does",
    left: "backup",
    act: async ({ world, name }) => await policy(world, name, "Foreground"),
  },
  {
    id: "delete-orphan",
    fault: "deleted with its dependents left alone",
    left: "everything",
    act: async ({ world, name }) => await policy(world, name, "Orphan"),
  },
  {
    id: "delete-operator",
    fault: "deleted while the operator is killed in the middle",
    left: "backup",
    act: async ({ world, name }) => {
      await policy(world, name, "Background");
      await eventually(
        "the last backup begins",
        60_000,
        async () => (await finalBackup(world, name)) !== undefined,
      );
      await world.operator.scale(0);
      await world.operator.scale(1);
    },
  },
  {
    id: "delete-down",
    fault: "deleted while no instance can start",
    left: "volumes",
    isBeyond: true,
    spec: { backup: { store: { claim: { name: "backups" } }, finalDeadlineSeconds: 20 } },
    act: async ({ world, name }) => {
      // Its quorum is gone: two of three volumes are lost, and nobody may become primary.
      for (const { name: instance } of world.instances(name).slice(0, 2)) await world.loseVolume(instance);
      await policy(world, name, "Background");
    },
  },
  {
    id: "delete-storeless",
    fault: "deleted without a store for backups",
    left: "volumes",
    spec: { backup: undefined },
    act: async ({ world, name }) => await policy(world, name, "Background"),
  },
  {
    id: "delete-full",
    fault: "deleted while the disks are full",
    left: "volumes",
    again: { storage: { size: "640Mi", className: "capped" } },
    spec: {
      storage: { size: "320Mi", className: "capped" },
      backup: { store: { claim: { name: "backups" } }, finalDeadlineSeconds: 20 },
    },
    act: async ({ world, name }) => {
      for (const { name: instance } of world.instances(name)) await world.fillDisk(instance);
      await policy(world, name, "Background");
    },
  },
];

async function finalBackup(world: World, name: string) {
  const { items } = await world.client.kind(DatabaseBackup).list({ namespace });
  return items.find(({ spec, metadata }) => spec.database === name && metadata.name.includes("final"));
}

const base = {
  version: "15",
  instances: 3,
  storage: { size: "1Gi" },
  onDelete: "Snapshot",
  backup: { store: { claim: { name: "backups" } } },
};

function scenario(deletion: Deletion): Scenario {
  const { id, fault, left } = deletion;
  return {
    id,
    fault,
    goal: { backup: "all is restored", volumes: "the volumes are kept", everything: "nothing has changed" }[
      left
    ],
    runs: 5,
    gapMs: Number.POSITIVE_INFINITY,
    healMs: Number.POSITIVE_INFINITY,
    spec: { ...base, ...deletion.spec },
    isDeleting: true,
    run: async ({ world, name, ledger }) => {
      await world.sql(name, `CREATE TABLE items AS SELECT generate_series(1, ${rows}) AS id`);
      const volumes = (await world.get(name)).status?.volumes ?? [];
      await deletion.act({ world, name });
      await eventually(`${name} is gone`, 240_000, async () => !(await world.exists(name)));
      await ledger.stop();
      if (left === "backup") {
        await restored(world, name, ledger);
        await gone(world, volumes);
      } else {
        await kept(world, { name, volumes, left });
        if (!deletion.isBeyond)
          await taken(world, name, { ...base, ...deletion.spec, ...deletion.again }, ledger);
      }
      return undefined;
    },
  };
}

async function gone(world: World, volumes: readonly string[]): Promise<void> {
  await eventually("the volumes are gone", 60_000, async () => {
    const found = await Promise.all(
      volumes.map((name) => world.client.kind(PersistentVolume).find({ name })),
    );
    return found.every((volume) => volume === undefined);
  });
}

async function kept(
  world: World,
  {
    name,
    volumes,
    left,
  }: { readonly name: string; readonly volumes: readonly string[]; readonly left: string },
): Promise<void> {
  const found = await Promise.all(
    volumes.map((each) => world.client.kind(PersistentVolume).find({ name: each })),
  );
  const policies = found.map((volume) => volume?.spec?.persistentVolumeReclaimPolicy);
  if (volumes.length !== 3 || policies.some((each) => each !== "Retain"))
    throw new Error(`volumes: ${policies.join()}`);
  if (left === "everything" && world.instances(name).length !== 3) throw new Error("pods are gone");
}

/** A Database of the same name takes over what is left, and has every row that was acknowledged. */
async function taken(world: World, name: string, spec: object, ledger: Ledger): Promise<void> {
  await world.create(name, spec);
  await world.whenReady(name, 180_000);
  await expectAll(world, name, ledger);
  await world.remove(name);
}

async function expectAll(world: World, name: string, ledger: Ledger): Promise<void> {
  // The node learns of a new Service a moment later than the operator.
  await eventually(`${name} answers`, 30_000, async () => (await world.sql(name, "SELECT 1")).length === 1);
  const [row] = await world.sql(name, "SELECT count(*) AS items FROM items");
  const missing = ledger.missingFrom(
    await world.sql(name, "SELECT writer, seq FROM ledger", { timeoutMs: 30_000 }),
  );
  if (row?.["items"] !== String(rows)) throw new Error(`${row?.["items"]} of ${rows} rows are there`);
  if (missing.length > 0) throw new Error(`${missing.length} acknowledged commits are not there`);
}

/** Every row that was acknowledged is in a new Database. */
async function restored(world: World, name: string, ledger: Ledger): Promise<void> {
  const backup = await finalBackup(world, name);
  if (backup?.status?.phase !== "Done") throw new Error(`the last backup is ${backup?.status?.phase}`);
  const again = `${name}-again`;
  await world.create(again, {
    version: "15",
    instances: 1,
    restoreFrom: { backup: backup.metadata.name },
    onDelete: "Delete",
  });
  await world.whenReady(again, 120_000);
  await expectAll(world, again, ledger);
  await world.remove(again);
}

let doomed = 0;

/** Nothing can be made in a namespace that goes, so no backup: the volumes stay, and say whose they are. */
const namespaceDeleted: Scenario = {
  id: "delete-namespace",
  fault: "its namespace deleted",
  goal: "the volumes are kept",
  runs: 5,
  gapMs: 3_000,
  healMs: 60_000,
  run: async ({ world }) => {
    const name = `doomed-${++doomed}`;
    const { client } = world;
    await client.kind(Namespace).create({ metadata: { name } });
    const here = { namespace: name, name: "orders" };
    const spec = { ...base, instances: 1, backup: undefined };
    await client.kind(Database).create({ metadata: here, spec: spec as never });
    const get = async () => (await client.kind(Database).find(here))?.status;
    await eventually("it is ready", 120_000, async () => (await get())?.readyInstances === 1);
    const volumes = (await get())?.volumes ?? [];
    await eventually("its volume is protected", 30_000, async () => {
      const [volume] = await Promise.all(
        volumes.map((each) => client.kind(PersistentVolume).get({ name: each })),
      );
      return volume?.spec?.persistentVolumeReclaimPolicy === "Retain";
    });
    await client.kind(Namespace).delete({ name });
    await eventually(
      "the namespace is gone",
      120_000,
      async () => !(await client.kind(Namespace).find({ name })),
    );
    const [volume] = await Promise.all(
      volumes.map((each) => client.kind(PersistentVolume).find({ name: each })),
    );
    if (volume?.metadata.annotations?.["database.keelson.dev/data-of"] !== `${name}/orders`)
      throw new Error("the volume is gone, or does not say whose data is on it");
    return undefined;
  },
};

export const ways: readonly Scenario[] = [...deletions.map(scenario), namespaceDeleted];
