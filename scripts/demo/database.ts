/**
 * `npm run demo -- database`: a real PostgreSQL with a primary and two replicas. Rows are written, the primary is killed,
 * a backup is taken and proven, rows are deleted by mistake and brought back, and primaryship is handed over on purpose.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pods } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import { PersistentVolumeClaim, Secret } from "@keelson/core/kinds";
import { Database, DatabaseBackup, PgClient } from "@keelson/database-operator";
import { until } from "@keelson/testing";
import { Stage } from "./stage.ts";

type DatabaseObject = ObjectOf<typeof Database>;

const ROWS = 500;
const namespace = "default";
const here = { namespace, name: "orders" };
const restored = { namespace, name: "orders-before" };

const stage = await Stage.open("an embedded cluster: API server, controllers, scheduler, three nodes", 3);
const { say, cluster } = stage;
const { client } = cluster;
const operator = stage.operator("database");
await say.step(
  "the operator, built into an image and installed: CRDs, its exact role, a Deployment",
  async () => {
    await operator.build();
    await operator.install();
  },
);

await say.step(
  "a Database: PostgreSQL 15, three instances, commits on a majority, an archive of the log",
  async () => {
    await client.kind(PersistentVolumeClaim).create({
      metadata: { namespace, name: "backups" },
      spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "4Gi" } } },
    });
    const spec = {
      version: "15",
      instances: 3,
      durability: "quorum" as const,
      backup: { store: { claim: { name: "backups" } } },
      parameters: { archive_timeout: "5s" },
    };
    await client.kind(Database).apply(Database.object({ metadata: here, spec }));
    await ready(here);
  },
);
await say.step(`${ROWS} rows written`, async () => {
  await using sql = await connect(here);
  await sql.client.query("CREATE TABLE items (id int PRIMARY KEY)");
  for (let id = 1; id <= ROWS; id++) await sql.client.query(`INSERT INTO items VALUES (${id})`);
});
await say.step("the primary's container killed; writes go on, and every row is there", async () => {
  const before = (await ready(here)).status?.primary ?? "";
  const since = performance.now();
  await cluster.inject({ kind: "kill", pod: { namespace, name: before } });
  await eventually(async () => {
    await using sql = await connect(here);
    await sql.client.query("INSERT INTO items VALUES (0) ON CONFLICT DO NOTHING");
  });
  say.detail(`the next commit was acknowledged after ${((performance.now() - since) / 1_000).toFixed(1)} s`);
  await expectRows(here, ROWS + 1);
  await ready(here);
});
await say.step(
  "a backup, which counts only after a server that was started from it has answered",
  async () => {
    const backup = { namespace, name: "first" };
    await client
      .kind(DatabaseBackup)
      .create(DatabaseBackup.object({ metadata: backup, spec: { database: here.name } }));
    const taken = await until(
      client,
      DatabaseBackup,
      backup,
      (each) => each?.status?.phase === "Done" || each?.status?.phase === "Failed",
      { timeoutMs: 180_000 },
    );
    const { phase, sizeBytes = 0, instance, message } = taken?.status ?? {};
    if (phase !== "Done") throw new Error(`the backup ended as ${phase}: ${message}`);
    say.detail(`${(sizeBytes / 2 ** 20).toFixed(0)} MiB from ${instance}: ${message}`);
  },
);
const moment = await say.step("more rows, and then all of them deleted by mistake", async () => {
  await using sql = await connect(here);
  await sql.client.query(`INSERT INTO items SELECT generate_series(${ROWS + 1}, ${2 * ROWS})`);
  await sleep(1_500);
  const at = new Date().toISOString();
  await sleep(1_500);
  await sql.client.query("DELETE FROM items");
  return at;
});
await say.step("a new Database, restored to the moment before", async () => {
  // It waits by itself until the archive of the log has that moment.
  const spec = { version: "15", instances: 1, restoreFrom: { backup: "first", targetTime: moment } };
  await client.kind(Database).apply(Database.object({ metadata: restored, spec }));
  await ready(restored);
  await expectRows(restored, 2 * ROWS + 1);
});
await say.step("primaryship handed over on purpose", async () => {
  const before = (await ready(here)).status;
  const annotations = { "database.keelson.dev/switchover": "any" };
  await client.kind(Database).patch(here, { type: "merge", body: { metadata: { annotations } } });
  const after = await until(
    client,
    Database,
    here,
    (each) => (each?.status?.epoch ?? 0) > (before?.epoch ?? 0),
    {
      timeoutMs: 60_000,
    },
  );
  say.detail(`${before?.primary} handed over; ${after?.status?.switchover?.message ?? ""}`);
  await ready(here);
});
await stage.end(["kubectl get db,dbb,pods,pvc", "kubectl delete pod orders-0 && kubectl get db -w"]);

async function ready(ref: { namespace: string; name: string }): Promise<DatabaseObject> {
  const settled = await until(
    client,
    Database,
    ref,
    (each) =>
      each?.status?.readyInstances === each?.spec.instances &&
      each?.status?.observedGeneration === each?.metadata.generation &&
      Boolean(each?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")),
    { timeoutMs: 240_000 },
  );
  const { primary, readyInstances, epoch } = settled?.status ?? {};
  say.detail(`${readyInstances} instances ready, ${primary} is primary, epoch ${epoch}`);
  return settled as DatabaseObject;
}

/** Speaks to the primary through a port-forward, as a person at this machine would. */
async function connect(ref: {
  namespace: string;
  name: string;
}): Promise<{ client: PgClient } & AsyncDisposable> {
  const { status } = await client.kind(Database).get(ref);
  const secret = await client.kind(Secret).get({ namespace, name: `${ref.name}-app` });
  const forward = await pods(client).forward({ namespace, name: status?.primary ?? "" }, { port: 5432 });
  try {
    const sql = await PgClient.connect({
      host: "127.0.0.1",
      port: forward.localPort,
      user: "app",
      database: "app",
      password: Buffer.from(secret.data?.["password"] ?? "", "base64").toString(),
      connectTimeoutMs: 5_000,
      queryTimeoutMs: 30_000,
    });
    return {
      client: sql,
      [Symbol.asyncDispose]: async () => {
        await sql.close();
        await forward.close();
      },
    };
  } catch (error) {
    await forward.close();
    throw error;
  }
}

async function expectRows(ref: { namespace: string; name: string }, wanted: number): Promise<void> {
  // A client connects again where a primary has just changed, and so does this one.
  const row = await eventually(async () => {
    await using sql = await connect(ref);
    const [first] = await sql.client.query("SELECT count(*) AS rows FROM items");
    return first;
  });
  if (Number(row?.["rows"]) !== wanted)
    throw new Error(`${ref.name} has ${row?.["rows"]} rows, not ${wanted}`);
  say.detail(`${ref.name} has all ${wanted} rows`);
}

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(200);
    }
  }
}
