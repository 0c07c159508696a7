/** The database of examples/src/nocode/database.yaml: deployed, upgraded, and brought back when the upgrade fails. */
import { readFileSync } from "node:fs";
import { dynamicKind, type JsonObject, type KubeObject } from "@keelson/core";
import {
  CronJob,
  Job,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
  StatefulSet,
} from "@keelson/core/kinds";
import { type PlanStatus, planControllers } from "@keelson/plans";
import { type Cluster, cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { parse } from "yaml";

const file = new URL("../../src/nocode/database.yaml", import.meta.url);
const definition = parse(readFileSync(file, "utf8")) as KubeObject;
const kinds = [CronJob, Job, PersistentVolumeClaim, Service, StatefulSet];
const Database = dynamicKind({
  ...{ group: "example.com", version: "v1", kind: "SmallDatabase", resource: "smalldatabases" },
  scope: "Namespaced",
});
const here = { namespace: "default", name: "shop" };

async function started(broken: (pod: JsonObject) => boolean = () => false): Promise<Cluster> {
  const [made] = await planControllers([definition], {
    discover: async (_apiVersion, kind) => kinds.find((each) => each.kind === kind) as never,
  });
  if (!made) throw new Error("the file holds no definition");
  const c = await cluster({
    controllers: [made.controller],
    workloads: { runMs: 2_000, broken: (pod) => broken(pod as unknown as JsonObject) },
  });
  // The cluster of a test has no storage but what it is given.
  const accessModes: ["ReadWriteOnce"] = ["ReadWriteOnce"];
  const spec = { capacity: { storage: "1Gi" }, accessModes, hostPath: { path: "/disk" } };
  await c.client.kind(PersistentVolume).create({ metadata: { name: "disk" }, spec });
  return c;
}

const planOf = async (c: Cluster) =>
  ((await c.client.kind(Database).get(here)) as unknown as { status?: PlanStatus }).status?.plan;
const ended = (c: Cluster, run: string, state: string) =>
  c.until(async () => {
    const plan = await planOf(c);
    return plan?.run === run && plan.state === state;
  }, 3_600_000);
const imageOf = async (c: Cluster) =>
  (await c.client.kind(StatefulSet).get(here)).spec?.template.spec?.containers[0]?.image;

test("a database is initialized once, served, backed up, and upgraded step by step", async () => {
  await using c = await started();
  await c.client.kind(Database).create({ metadata: here, spec: {} } as never);
  await ended(c, "deploy-1", "Succeeded");
  expect(await imageOf(c)).toBe("postgres:16");
  expect((await c.client.kind(CronJob).get({ ...here, name: "shop-backup" })).spec?.schedule).toBe(
    "0 3 * * *",
  );

  const steps: string[] = [];
  c.stored.subscribe("example.com/smalldatabases", ({ object }) => {
    const { plan } = (object as unknown as { status?: PlanStatus }).status ?? {};
    const line = `${plan?.run} ${plan?.step ?? plan?.state}`;
    if (steps.at(-1) !== line) steps.push(line);
  });
  await c.client.kind(Database).patch(here, { type: "merge", body: { spec: { version: "17" } } });
  await ended(c, "upgrade-2", "Succeeded");
  expect(await imageOf(c)).toBe("postgres:17");
  const order = [
    ...new Set(steps.filter((line) => line.startsWith("upgrade-2")).map((line) => line.slice(10))),
  ];
  expect(order).toEqual([
    "backup/dump",
    "migrate/stop",
    "migrate/files",
    "roll/server",
    "verify/ask",
    "Succeeded",
  ]);
  // Nothing is initialized again.
  expect(
    (await c.client.kind(Job).list()).items.filter(({ metadata }) => metadata.name.includes("initdb")),
  ).toEqual([]);
  expect(c.forbidden).toEqual([]);

  await c.client.kind(Database).patch(here, { type: "merge", body: { spec: { backups: false } } });
  await ended(c, "deploy-3", "Succeeded");
  expect(await c.client.kind(CronJob).find({ ...here, name: "shop-backup" })).toBeUndefined();
  expect((await planOf(c))?.steps.find(({ name }) => name === "initialize/initdb")?.state).toBe("Skipped");
}, 60_000);

test("an upgrade whose server never becomes ready goes back to the version before", async () => {
  const isNew = (pod: JsonObject) =>
    JSON.stringify(pod).includes("postgres:17") && JSON.stringify(pod).includes("shop-0");
  await using c = await started(isNew);
  await c.client.kind(Database).create({ metadata: here, spec: {} } as never);
  await ended(c, "deploy-1", "Succeeded");
  await c.client.kind(Database).patch(here, { type: "merge", body: { spec: { version: "17" } } });
  await ended(c, "rollback-3", "Succeeded");
  expect(await imageOf(c)).toBe("postgres:16");
  expect((await c.client.kind(Pod).get({ ...here, name: "shop-0" })).status?.phase).toBe("Running");
  const { status } = (await c.client.kind(Database).get(here)) as unknown as { status: PlanStatus };
  expect(status.history?.[1]).toMatchObject({ run: "upgrade-2", state: "Failed" });
  expect(status.history?.[1]?.message).toMatch(/roll\/server: took longer than 5m: StatefulSet shop/);
}, 60_000);
