/** What descriptions of PostgreSQL operators promise: a primary with replicas, failover, backups, any moment, upgrades. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim } from "../claim.ts";
import { expect, type Shell } from "../shell.ts";

const name = "orders";
const target = `database/${name}`;
const store = { claim: { name: "database-backups" } };

const database = (spec: object, as = name) => ({
  apiVersion: "database.keelson.dev/v1",
  kind: "Database",
  metadata: { name: as },
  spec: { version: "15", instances: 3, ...spec },
});

const orders = {
  backup: { store },
  // What was committed is in the archive soon.
  parameters: { archive_timeout: "5s" },
  onDelete: "Snapshot",
};

const storeClaim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: store.claim.name },
  spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "4Gi" } } },
};

/** One statement through a Service, as the role that applications have. */
async function sql(shell: Shell, of: string, statement: string, service = of): Promise<string> {
  const password = await shell.secret(`${of}-app`, "password");
  const [pod = ""] = await shell.names("pods", "-l", `app.kubernetes.io/instance=${of}`);
  const address = `postgresql://app:${password}@${service}/app`;
  return await shell.exec(pod, "psql", address, "-v", "ON_ERROR_STOP=1", "-tAqc", statement);
}

/** All instances are there, and commits are on as many as was asked for. */
async function settled(shell: Shell, of = name, instances = 3): Promise<void> {
  await shell.wait(`database/${of}`, "condition=Ready", 240);
  await shell.wait(`database/${of}`, `jsonpath={.status.readyInstances}=${instances}`, 240);
}

/** Made if it is not there. */
async function made(shell: Shell): Promise<void> {
  await shell.deployed("database");
  const there = await shell.names("database", "--field-selector", `metadata.name=${name}`);
  if (there.length === 0) await shell.apply(storeClaim, database(orders));
  await settled(shell);
  await sql(shell, name, "CREATE TABLE IF NOT EXISTS items (id int PRIMARY KEY, what text)");
}

async function put(shell: Shell, id: number, what: string): Promise<void> {
  await sql(shell, name, `INSERT INTO items VALUES (${id}, '${what}') ON CONFLICT DO NOTHING`);
}

async function what(shell: Shell, id: number, of = name, service = of): Promise<string> {
  return await sql(shell, of, `SELECT what FROM items WHERE id = ${id}`, service);
}

async function backup(shell: Shell, as: string): Promise<void> {
  await shell.apply({
    apiVersion: "database.keelson.dev/v1",
    kind: "DatabaseBackup",
    metadata: { name: as },
    spec: { database: name },
  });
  await shell.wait(`databasebackup/${as}`, "jsonpath={.status.phase}=Done");
}

export const databaseClaims: readonly Claim[] = [
  {
    id: "database-create",
    promise: "A primary takes writes, replicas follow it and serve reads, each behind a Service of its own",
    commands: ["kubectl apply -f database.yaml", "kubectl get db", "psql"],
    run: async (shell) => {
      await made(shell);
      await put(shell, 1, "written on the primary");
      await shell.until("replicas have it", async () => {
        return (await what(shell, 1, name, `${name}-ro`)) === "written on the primary";
      });
      const [writes, reads] = [
        await sql(shell, name, "SELECT pg_is_in_recovery()"),
        await sql(shell, name, "SELECT pg_is_in_recovery()", `${name}-ro`),
      ];
      expect("writes go to a primary, reads to a replica", writes === "f" && reads === "t", {
        writes,
        reads,
      });
      const refused = await sql(shell, name, "DELETE FROM items", `${name}-ro`).then(() => "", String);
      expect("a replica refuses writes", refused.includes("read-only"), refused);
      return "one primary and two replicas; a row written on the one is read from the others";
    },
  },
  {
    id: "database-failover",
    promise:
      "When the primary is lost, a replica takes over, nothing committed is lost, and the old one returns as a replica",
    commands: ["kubectl delete pod PRIMARY --now", "kubectl get db"],
    run: async (shell) => {
      await made(shell);
      const before = await shell.value(target, ".status.primary");
      await put(shell, 2, "committed before");
      await shell.kubectl("delete", "pod", before, "--now");
      await shell.until("the next commit is acknowledged by another primary", async () => {
        await put(shell, 3, "committed after");
        return (await shell.value(target, ".status.primary")) !== before;
      });
      await settled(shell);
      const after = await shell.value(target, ".status.primary");
      expect("nothing is lost", (await what(shell, 2)) === "committed before");
      return `${before} → ${after}; both commits are there, and three instances`;
    },
  },
  {
    id: "database-scale",
    promise: "Replicas are added and removed by one field",
    commands: ["kubectl edit db/orders", "kubectl get pods"],
    run: async (shell) => {
      await made(shell);
      await put(shell, 4, "on every instance");
      await shell.edit(target, "/^spec:/,/^status:/s/instances: 3/instances: 4/");
      await settled(shell, name, 4);
      await shell.edit(target, "/^spec:/,/^status:/s/instances: 4/instances: 3/");
      await settled(shell);
      await shell.until("three pods", async () => {
        return (await shell.names("pods", "-l", `app.kubernetes.io/instance=${name}`)).length === 3;
      });
      expect("the row is there", (await what(shell, 4)) === "on every instance");
      return "four instances, then three again";
    },
  },
  {
    id: "database-backup",
    promise: "Backups are taken on request and on a schedule, and count when a server was started from them",
    commands: ["kubectl apply -f backup.yaml", "kubectl get dbb"],
    run: async (shell) => {
      await made(shell);
      await backup(shell, "by-hand");
      const schedule = async (value: string | null) =>
        await shell.kubectl(
          ...["patch", target, "--type=merge", "-p"],
          JSON.stringify({ spec: { backup: { schedule: value } } }),
        );
      await schedule("* * * * *");
      let scheduled = "";
      await shell.until("the schedule takes one", async () => {
        const names = await shell.names("databasebackup");
        scheduled = names.find((each) => each.startsWith(`${name}-`)) ?? "";
        return scheduled !== "";
      });
      await schedule(null);
      await shell.wait(`databasebackup/${scheduled}`, "jsonpath={.status.phase}=Done");
      return `by-hand and ${scheduled}: Done`;
    },
  },
  {
    id: "database-moment",
    promise: "A database is restored to the moment before a mistake",
    commands: ["kubectl apply -f restored.yaml"],
    run: async (shell) => {
      await made(shell);
      await backup(shell, "base");
      await put(shell, 5, "before the mistake");
      await sleep(1_500);
      const moment = new Date().toISOString();
      await sleep(1_500);
      await sql(shell, name, "DELETE FROM items WHERE id = 5");
      await put(shell, 6, "later");
      await shell.apply(
        database(
          { instances: 1, restoreFrom: { backup: "base", targetTime: moment }, onDelete: "Delete" },
          "before",
        ),
      );
      await settled(shell, "before", 1);
      expect("it has what was deleted", (await what(shell, 5, "before")) === "before the mistake");
      expect("it has nothing later", (await what(shell, 6, "before")) === "");
      expect("the first one goes on", (await what(shell, 5)) === "");
      await shell.kubectl("delete", "database", "before", "--timeout=120s");
      return "the deleted row is there, a later one is not";
    },
  },
  {
    id: "database-upgrade",
    promise: "A major upgrade is one changed field",
    commands: ["kubectl edit db/orders", "kubectl get db"],
    run: async (shell) => {
      await made(shell);
      await put(shell, 7, "written by 15");
      await shell.edit(target, '/^spec:/,/^status:/s/version: "15"/version: "17"/');
      await shell.until(
        "PostgreSQL 17 answers",
        async () => (await sql(shell, name, "SHOW server_version")).startsWith("17"),
        300,
      );
      await settled(shell);
      expect("its rows are there", (await what(shell, 7)) === "written by 15");
      return `PostgreSQL ${await sql(shell, name, "SHOW server_version")}, with its rows, on three instances`;
    },
  },
  {
    id: "database-delete",
    promise: "A deleted database leaves a last backup; then its volumes go",
    commands: ["kubectl delete db orders", "kubectl get dbb,pvc"],
    run: async (shell) => {
      await made(shell);
      const before = await shell.names("databasebackup");
      await shell.kubectl("delete", "database", name, "--timeout=240s");
      const after = await shell.names("databasebackup");
      const last = after.find((each) => !before.includes(each));
      expect("a last backup is there", last !== undefined, after);
      const phase = await shell.value(`databasebackup/${last}`, ".status.phase");
      expect("it is proven", phase === "Done", phase);
      await shell.until("pods and volumes are gone", async () => {
        return (await shell.names("pod,pvc", "-l", `app.kubernetes.io/instance=${name}`)).length === 0;
      });
      return `${last} is proven; no pod or claim is left`;
    },
  },
];
