/**
 * `npm run demo -- database`: a real PostgreSQL with a primary and two replicas. Rows are written, the primary is killed,
 * a backup is taken and proven, rows are deleted by mistake and brought back, and primaryship is handed over on purpose.
 */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildImage, loadOperator, manifestsFor, readProject } from "@keelson/cli";
import { pods } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import type { ObjectOf } from "@keelson/core";
import { Deployment, PersistentVolumeClaim, Secret } from "@keelson/core/kinds";
import { Database, DatabaseBackup, PgClient } from "@keelson/database-operator";
import { loadImages } from "@keelson/images";
import { until } from "@keelson/testing";
import { narrate } from "../narrate.ts";
import { environment, root } from "../run.ts";

type DatabaseObject = ObjectOf<typeof Database>;

const ROWS = 500;
const namespace = "default";
const here = { namespace, name: "orders" };
const restored = { namespace, name: "orders-before" };
const say = narrate();

const cluster = await say.step("an embedded cluster: API server, controllers, scheduler, three nodes", () =>
  startCluster({ nodes: 3, onProgress: say.detail }),
);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    say.interrupt("taking the cluster down");
    void leave(130);
  });
}
const { client } = cluster;
if (cluster.pods === "simulated") {
  await leave(
    1,
    "this machine allows no sandboxes, so pods would be simulated: there is nothing true to show",
  );
}

const project = readProject(join(root, "operators/database"));
const image = `${project.name}:${project.version}`;
await say.step(
  "the operator, built into an image and installed: CRDs, its exact role, a Deployment",
  async () => {
    execFileSync("tsc", ["-b", "packages/keelson", "packages/kit"], {
      cwd: root,
      env: environment,
      stdio: "inherit",
    });
    const { archive, digest } = await buildImage(project, { image, base: "node:24", onProgress: say.detail });
    const path = join(dirname(cluster.kubeconfig), "operator.oci.tar");
    await writeFile(path, archive);
    await loadImages(path);
    say.detail(`${image}  ${digest.slice(0, 19)}`);
    const parts = await loadOperator(project);
    for (const manifest of manifestsFor(project, parts, { namespace: project.name, image, replicas: 1 })) {
      const kind = await client.discover(manifest.apiVersion, manifest.kind);
      await client.kind(kind).apply(manifest);
    }
    const where = { namespace: project.name, name: project.name };
    await until(client, Deployment, where, (each) => each?.status?.availableReplicas === 1, {
      timeoutMs: 120_000,
    });
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
say.end();

if (!process.argv.includes("--exit") && process.stdout.isTTY) {
  console.log("\nThe cluster stays up until Ctrl-C. In another terminal:\n");
  console.log(`  export KUBECONFIG=${cluster.kubeconfig}`);
  console.log("  kubectl get db,dbb,pods,pvc\n  kubectl delete pod orders-0 && kubectl get db -w");
  await new Promise(() => {});
}
await leave(0);

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

async function leave(code: number, why?: string): Promise<never> {
  if (why) console.error(why);
  await cluster.stop();
  process.exit(code);
}
