/**
 * `npm run demo -- sampledb`: the database operator that the Kubernetes documentation describes, with a real Redis:
 * created, written to, its primary killed, backed up, upgraded, deleted with a last snapshot, and restored from it.
 */
import { pods } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import { PersistentVolumeClaim, Secret } from "@keelson/core/kinds";
import { RedisConnection, SampleDB, SampleDBBackup } from "@keelson/sampledb-operator";
import { until } from "@keelson/testing";
import { Stage } from "./stage.ts";

const KEYS = 500;
const here = { namespace: "default", name: "example-database" };

const stage = await Stage.open("an embedded cluster: API server, controllers, scheduler, two nodes", 2);
const { say, cluster } = stage;
const { client } = cluster;
const operator = stage.operator("sampledb");
await say.step(
  "the SampleDB operator, built into an image and installed: CRDs, its exact role, a Deployment",
  async () => {
    await operator.build();
    await operator.install();
  },
);

await say.step("a SampleDB: Redis 7.0, a primary and a replica, a backup every hour", async () => {
  await client.kind(SampleDB).apply(
    SampleDB.object({
      metadata: here,
      spec: {
        version: "7.0",
        storage: { size: "1Gi" },
        replicas: 1,
        backup: { schedule: "0 * * * *", keep: 24 },
        initialize: { commands: [["SET", "greeting", "hello"]] },
        onDelete: "Snapshot",
      },
    }),
  );
  await ready();
  if ((await read(["GET", "greeting"])) !== "hello") throw new Error("the seed data is not there");
});
await say.step(`${KEYS} keys written, each acknowledged by the replica too (WAIT 1)`, async () => {
  await write(0, KEYS);
});
await say.step("the primary's process killed; the replica takes over and has every key", async () => {
  const { status } = await client.kind(SampleDB).get(here);
  const primary = status?.primary ?? "";
  await cluster.inject({ kind: "kill", pod: { namespace: here.namespace, name: primary } });
  await until(client, SampleDB, here, (db) => db?.status?.primary !== primary && isReady(db), {
    timeoutMs: 60_000,
  });
  await everyKey(KEYS);
  const now = (await client.kind(SampleDB).get(here)).status;
  say.detail(`${primary} → ${now?.primary}, epoch ${now?.epoch}: ${now?.lastFailover?.why}`);
});
await say.step("a backup, which counts only after a restore into a scratch server", async () => {
  const backup = { namespace: here.namespace, name: "first" };
  await client
    .kind(SampleDBBackup)
    .create(SampleDBBackup.object({ metadata: backup, spec: { database: here.name } }));
  await taken("first");
});
await say.step("kubectl edit: version 8.0; rehearsed on a backup, replica first, then a switch", async () => {
  await client.kind(SampleDB).patch(here, { type: "merge", body: { spec: { version: "8.0" } } });
  await until(
    client,
    SampleDB,
    here,
    (db) => db?.status?.upgrade === undefined && isReady(db) && (db?.status?.version ?? "").startsWith("8."),
    {
      timeoutMs: 300_000,
    },
  );
  await everyKey(KEYS);
  say.detail(`every server runs Redis ${(await client.kind(SampleDB).get(here)).status?.version}`);
});
let last = "";
await say.step(
  "kubectl delete: a last snapshot, verified, then everything goes but the backups",
  async () => {
    await write(KEYS, 2 * KEYS);
    await client.kind(SampleDB).delete(here);
    await until(client, SampleDB, here, (db) => db === undefined, { timeoutMs: 180_000 });
    const { items } = await client.kind(SampleDBBackup).list({ namespace: here.namespace });
    last = items.find(({ metadata }) => metadata.name.startsWith(`${here.name}-final`))?.metadata.name ?? "";
    await taken(last);
    const claims = (await client.kind(PersistentVolumeClaim).list({ namespace: here.namespace })).items;
    const left = claims.filter(({ metadata }) => metadata.name.startsWith("data-"));
    if (left.length > 0) throw new Error(`${left.length} volumes are still there`);
  },
);
await say.step("the same name again, restored from the last snapshot", async () => {
  const spec = { version: "8.0", replicas: 1, restoreFrom: { backup: last } };
  await client.kind(SampleDB).apply(SampleDB.object({ metadata: here, spec }));
  await ready();
  await everyKey(2 * KEYS);
});
await stage.end([
  "kubectl get SampleDB",
  "kubectl edit SampleDB/example-database",
  "kubectl scale sdb example-database --replicas 2",
  "kubectl delete pod example-database-0",
]);

function isReady(db: ObjectOf<typeof SampleDB> | undefined): boolean {
  const { status, metadata } = db ?? {};
  return (
    status?.observedGeneration === metadata?.generation &&
    (status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false)
  );
}

async function ready(): Promise<void> {
  const db = await until(client, SampleDB, here, isReady, { timeoutMs: 180_000 });
  const { primary, replicas, version } = db?.status ?? {};
  say.detail(`primary ${primary}, ${replicas} replica, Redis ${version}`);
}

async function taken(name: string): Promise<void> {
  const where = { namespace: here.namespace, name };
  const backup = await until(
    client,
    SampleDBBackup,
    where,
    (each) => each?.status?.phase === "Done" || each?.status?.phase === "Failed",
    {
      timeoutMs: 180_000,
    },
  );
  const { phase, keys, sha256, redisVersion } = backup?.status ?? {};
  if (phase !== "Done") throw new Error(`the backup ended as ${phase}: ${backup?.status?.failure?.message}`);
  say.detail(`${name}: ${keys} keys of Redis ${redisVersion}, sha256 ${sha256?.slice(0, 12)}…`);
}

/** Speaks to the primary through a port-forward, with the password of the binding. */
async function reach(): Promise<{ redis: RedisConnection } & AsyncDisposable> {
  const { status } = await client.kind(SampleDB).get(here);
  const name = status?.primary ?? "";
  const secret = await client
    .kind(Secret)
    .get({ namespace: here.namespace, name: status?.binding?.name ?? "" });
  const password = Buffer.from(secret.data?.["password"] ?? "", "base64").toString();
  const forward = await pods(client).forward({ namespace: here.namespace, name }, { port: 6379 });
  const redis = await RedisConnection.open(
    { host: "127.0.0.1", port: forward.localPort },
    { credentials: { username: "default", password }, timeoutMs: 10_000 },
  );
  return {
    redis,
    [Symbol.asyncDispose]: async () => {
      redis.close();
      await forward.close();
    },
  };
}

async function read(command: readonly string[]): Promise<unknown> {
  await using server = await reach();
  return await server.redis.call(command);
}

async function write(from: number, to: number): Promise<void> {
  await using server = await reach();
  const commands = Array.from({ length: to - from }, (_, index) => [
    "SET",
    `key-${from + index}`,
    `value-${from + index}`,
  ]);
  const replies = await server.redis.batch([...commands, ["WAIT", 1, 5_000]]);
  const failed = replies.find((reply) => reply instanceof Error);
  if (failed || Number(replies.at(-1)) < 1)
    throw new Error(`not acknowledged: ${String(failed ?? replies.at(-1))}`);
}

async function everyKey(count: number): Promise<void> {
  await using server = await reach();
  const replies = await server.redis.batch(
    Array.from({ length: count }, (_, index) => ["GET", `key-${index}`]),
  );
  const wrong = replies.filter((reply, index) => reply !== `value-${index}`).length;
  if (wrong > 0) throw new Error(`${wrong} of ${count} keys are missing or wrong`);
  say.detail(`all ${count} keys are there`);
}
