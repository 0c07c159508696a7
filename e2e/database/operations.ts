/** What people do to a database on purpose, and what happens to it by mistake. */
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseBackup } from "@keelson/database-operator";
import { eventually } from "../operator/eventually.ts";
import { bucketStore } from "./bucket.ts";
import type { Bench, Scenario } from "./scenarios.ts";
import { namespace, type World } from "./world.ts";

type Here = Pick<Bench, "world" | "name">;

const pooled = {
  version: "15",
  instances: 3,
  storage: { size: "2Gi" },
  pooler: { instances: 2 },
};

async function handOver({ world, name }: Here): Promise<void> {
  const { epoch = 0 } = (await world.get(name)).status ?? {};
  await world.annotate(name, { "database.keelson.dev/switchover": `any@${Date.now()}` });
  await eventually(
    "the switchover is done",
    60_000,
    async () => ((await world.get(name)).status?.epoch ?? 0) > epoch,
  );
}

const noErrors = async ({ ledger }: Bench): Promise<string[]> => {
  const [first] = ledger.errors;
  return first ? [`${ledger.errors.length} transactions failed, the first: ${first.message}`] : [];
};

const poolerSwitchover: Scenario = {
  id: "pooler-switchover",
  fault: "planned switchover, clients come through the pooler",
  goal: "gap ≤ 2 s, 0 failed transactions",
  runs: 10,
  gapMs: 2_000,
  healMs: 60_000,
  spec: pooled,
  through: "pooler",
  run: async (bench) => {
    await handOver(bench);
    return undefined;
  },
  check: noErrors,
};

const minor: Scenario = {
  id: "minor",
  fault: "minor upgrade, clients come through the pooler",
  goal: "gap ≤ 2 s, 0 failed transactions",
  runs: 10,
  gapMs: 2_000,
  healMs: 120_000,
  spec: pooled,
  through: "pooler",
  run: async ({ world, name }) => {
    const before = world.incarnations(name);
    const { version = "" } = (await world.get(name)).status ?? {};
    // The full version is another image to the operator: every instance is replaced, the primary last.
    await world.change(name, { version });
    await eventually("every instance is replaced", 120_000, async () => {
      const now = world.incarnations(name);
      return now.length === 3 && now.every((each) => !before.includes(each));
    });
    return undefined;
  },
  check: noErrors,
};

const settings: Scenario = {
  id: "settings",
  fault: "max_connections lowered, then raised, work_mem changed",
  goal: "gap ≤ 5 s; every instance has them",
  runs: 3,
  gapMs: 5_000,
  healMs: 120_000,
  spec: { version: "15", instances: 3, storage: { size: "2Gi" } },
  run: async ({ world, name }) => {
    for (const [connections, memory] of [
      ["60", "5MB"],
      ["120", "6MB"],
    ] as const) {
      await world.change(name, { parameters: { max_connections: connections, work_mem: memory } });
      await eventually(
        `max_connections is ${connections}`,
        120_000,
        async () => {
          const rows = await world.everywhere(
            name,
            "SELECT current_setting('max_connections') AS a, current_setting('work_mem') AS b",
          );
          return rows.length === 3 && rows.every((row) => row["a"] === connections && row["b"] === memory);
        },
        async () => JSON.stringify((await world.get(name)).status),
      );
    }
    return undefined;
  },
};

const badSettings: Scenario = {
  id: "bad-spec",
  fault: "a setting that PostgreSQL refuses, then corrected",
  goal: "unharmed, and the condition says why",
  runs: 3,
  gapMs: 3_000,
  healMs: 60_000,
  spec: { version: "15", instances: 3, storage: { size: "2Gi" } },
  run: async ({ world, name }) => {
    const before = world.incarnations(name);
    await world.change(name, { parameters: { shared_buffers: "much" } });
    await world.says(name, "Ready", "SettingsRefused");
    if (world.incarnations(name).join() !== before.join()) throw new Error("pods were replaced");
    await world.change(name, { parameters: { shared_buffers: null } });
    return undefined;
  },
};

const wrongPassword: Scenario = {
  id: "wrong-password",
  fault: "a role's Secret is missing, then made; then it holds another password, then the right one",
  goal: "others unharmed; the condition says what is missing; the role gets in with what its Secret says",
  runs: 3,
  gapMs: 3_000,
  healMs: 60_000,
  spec: { version: "15", instances: 3, storage: { size: "2Gi" } },
  run: async ({ world, name }) => {
    const secret = `${name}-reports`;
    const getsIn = async (password: string, other: string) => {
      await world.secret(secret, { password });
      await eventually(
        "the role gets in with the password of its Secret",
        60_000,
        async () => await world.canLogIn(name, "reports", password),
      );
      if (await world.canLogIn(name, "reports", other)) throw new Error("the other password works too");
    };
    await world.change(name, { roles: [{ name: "reports", passwordSecret: secret }] });
    await world.says(name, "Ready", "SecretMissing");
    await getsIn("right-password", "wrong-password");
    await getsIn("wrong-password", "right-password");
    await getsIn("right-password", "wrong-password");
    return undefined;
  },
};

const diskFull: Scenario = {
  id: "disk-full",
  fault: "the primary's disk is full, then the size is raised",
  goal: "another instance serves; whole again after the edit; the condition says why",
  runs: 3,
  gapMs: 60_000,
  healMs: 120_000,
  spec: { version: "15", instances: 3, storage: { size: "320Mi", className: "capped" } },
  run: async ({ world, name, ledger }) => {
    await world.fillDisk(await world.primary(name));
    await world.says(name, "StorageHealthy", "DiskFull");
    await ledger.acknowledgedSince(ledger.now, 60_000);
    await world.change(name, { storage: { size: "640Mi" } });
    await eventually("every volume has room", 120_000, async () => await world.holds(name, "StorageHealthy"));
    return undefined;
  },
};

async function backup({ world, name }: Here, as: string): Promise<void> {
  await world.client
    .kind(DatabaseBackup)
    .create(DatabaseBackup.object({ metadata: { namespace, name: as }, spec: { database: name } }));
  const look = async () => (await world.client.kind(DatabaseBackup).get({ namespace, name: as })).status;
  await eventually(
    `backup ${as} is done`,
    180_000,
    async () => {
      const status = await look();
      if (status?.phase === "Failed") throw new Error(status.message);
      return status?.phase === "Done";
    },
    async () => JSON.stringify(await look()),
  );
}

const stored = {
  version: "15",
  instances: 3,
  storage: { size: "4Gi" },
  backup: { store: { claim: { name: "backups" } } },
  parameters: { archive_timeout: "10s" },
};

/** A moment between two transactions, and when the clients' clock showed it. */
async function mistake({ world, name, ledger }: Bench): Promise<{ targetTime: string; atMs: number }> {
  await world.sql(name, "CREATE TABLE items AS SELECT generate_series(1, 1000) AS id");
  await sleep(1_500);
  const atMs = ledger.now;
  const targetTime = new Date().toISOString();
  await sleep(1_500);
  await world.sql(name, "DELETE FROM items");
  return { targetTime, atMs };
}

/** Every commit that was acknowledged until then is there. */
async function expectCommits({ world, ledger }: Bench, name: string, untilMs: number): Promise<void> {
  const rows = await world.sql(name, "SELECT writer, seq FROM ledger", { timeoutMs: 30_000 });
  const missing = ledger.missingFrom(rows, untilMs);
  if (missing.length > 0)
    throw new Error(
      `${missing.length} acknowledged commits are missing, the first ${JSON.stringify(missing[0])}`,
    );
}

async function items(world: World, name: string): Promise<string> {
  const [row] = await world.sql(name, "SELECT count(*) AS n FROM items");
  return row?.["n"] ?? "";
}

const inPlace: Scenario = {
  id: "restore-in-place",
  fault: "restored in place to a moment, and undone",
  goal: "the rows of that moment, and again those of now",
  runs: 3,
  gapMs: 60_000,
  healMs: 120_000,
  spec: stored,
  isRewinding: true,
  run: async (bench) => {
    const { world, name, ledger } = bench;
    await backup(bench, `${name}-base`);
    const { targetTime, atMs } = await mistake(bench);
    const now = await items(world, name);
    const untilMs = ledger.now;
    const request = { id: "1", backup: `${name}-base`, targetTime };
    await world.change(name, { restoreInPlace: request });
    const ended = async (id: string) =>
      await eventually(
        `restore ${id} is done`,
        180_000,
        async () => {
          const { restore } = (await world.get(name)).status ?? {};
          return restore?.id === id && restore.phase === "Done";
        },
        async () => JSON.stringify((await world.get(name)).status),
      );
    await ended("1");
    const restored = await items(world, name);
    if (restored !== "1000") throw new Error(`${restored} rows after the restore`);
    await expectCommits(bench, name, atMs);
    await world.change(name, { restoreInPlace: { id: "2", undo: true } });
    await ended("2");
    const back = await items(world, name);
    if (back !== now) throw new Error(`${back} rows instead of ${now} after the undo`);
    await expectCommits(bench, name, untilMs);
    return undefined;
  },
};

const pointInTime: Scenario = {
  id: "point-in-time",
  fault: "everything deleted by mistake, a new Database at the moment before",
  goal: "every row of that moment within 2 min",
  runs: 3,
  gapMs: 3_000,
  healMs: 120_000,
  spec: stored,
  run: async (bench) => {
    const { world, name } = bench;
    await backup(bench, `${name}-base`);
    const { targetTime, atMs } = await mistake(bench);
    const again = `${name}-again`;
    await world.create(again, {
      version: "15",
      instances: 1,
      restoreFrom: { backup: `${name}-base`, targetTime },
    });
    await world.whenReady(again, 120_000);
    const found = await items(world, again);
    await expectCommits(bench, again, atMs);
    await world.remove(again);
    if (found !== "1000") throw new Error(`${found} rows instead of 1000`);
    return undefined;
  },
};

const disaster = (id: string, fault: string, spec: object): Scenario => ({
  id,
  fault,
  goal: "at most 60 s of commits lost",
  runs: 3,
  gapMs: Number.POSITIVE_INFINITY,
  healMs: Number.POSITIVE_INFINITY,
  spec,
  isDeleting: true,
  run: async (bench) => {
    const { world, name, ledger } = bench;
    await backup(bench, `${name}-base`);
    await sleep(30_000);
    const lostAt = ledger.now;
    for (const { name: instance } of world.instances(name)) await world.loseVolume(instance);
    await sleep(2_000);
    await ledger.stop();
    const again = `${name}-again`;
    await world.create(again, { version: "15", instances: 1, restoreFrom: { backup: `${name}-base` } });
    await world.whenReady(again, 120_000);
    const missing = ledger.missingFrom(
      await world.sql(again, "SELECT writer, seq FROM ledger", { timeoutMs: 30_000 }),
    );
    const oldest = Math.min(lostAt, ...missing.map(({ endMs }) => endMs));
    await world.remove(again);
    await world.remove(name);
    if (lostAt - oldest > 60_000)
      throw new Error(`${((lostAt - oldest) / 1_000).toFixed(0)} s of commits are lost`);
    return undefined;
  },
});

const created: Scenario = {
  id: "create",
  fault: "a Database with three instances made, images cached",
  goal: "ready within 45 s",
  runs: 10,
  gapMs: 3_000,
  healMs: 60_000,
  run: async ({ world }) => {
    const name = `made-${Date.now()}`;
    const began = performance.now();
    await world.create(name, { version: "15", instances: 3, storage: { size: "1Gi" }, onDelete: "Delete" });
    await world.whenReady(name, 120_000);
    const seconds = (performance.now() - began) / 1_000;
    await world.remove(name);
    if (seconds > 45) throw new Error(`ready after ${seconds.toFixed(1)} s`);
    return undefined;
  },
};

const hibernated: Scenario = {
  id: "hibernate",
  fault: "hibernated and woken",
  goal: "every commit is there",
  runs: 3,
  gapMs: 90_000,
  healMs: 90_000,
  spec: { version: "15", instances: 3, storage: { size: "2Gi" } },
  run: async ({ world, name }) => {
    await world.change(name, { hibernate: true });
    await eventually(
      "it hibernates",
      60_000,
      async () => (await world.get(name)).status?.phase === "Hibernated",
    );
    await world.change(name, { hibernate: false });
    return undefined;
  },
};

export const operations: readonly Scenario[] = [
  poolerSwitchover,
  minor,
  settings,
  badSettings,
  wrongPassword,
  diskFull,
  inPlace,
  pointInTime,
  disaster("disaster", "every volume lost, restored from the store", stored),
  disaster("disaster-s3", "every volume lost, restored from a bucket", {
    ...stored,
    backup: { store: bucketStore },
  }),
  created,
  hibernated,
];
