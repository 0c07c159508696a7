/** What happens to a database in virtual time, and what must hold at each stage of it. */
import { ConfigMap, Node, Pod } from "@keelson/core/kinds";
import type { Cluster } from "@keelson/testing";
import { expect } from "vitest";
import { SampleDB, type SampleDBObject } from "../src/api/sampledb.ts";
import type { Scenario, Stage } from "./simulation/crashes.ts";

const here = { namespace: "default", name: "db" };

async function get(cluster: Cluster): Promise<SampleDBObject> {
  return await cluster.client.kind(SampleDB).get(here);
}

async function create({ cluster }: Stage, spec: object): Promise<void> {
  const whole = { version: "7.0", onDelete: "Delete" as const, ...spec };
  await cluster.client.kind(SampleDB).create(SampleDB.object({ metadata: here, spec: whole }));
  await ready(cluster);
}

async function ready(cluster: Cluster, also: (db: SampleDBObject) => boolean = () => true): Promise<void> {
  await cluster.until(async () => {
    const db = await get(cluster);
    const { status, metadata } = db;
    const is = status?.conditions?.some(({ type, status: its }) => type === "Ready" && its === "True");
    return is === true && status?.observedGeneration === metadata.generation && also(db);
  }, 300_000);
}

/** Writes until a replica has it, as an application that uses WAIT does; it must be there ever after. */
async function acknowledged({ cluster, redis }: Stage, key: string): Promise<void> {
  await cluster.until(async () => (await redis.write(key, key).catch(() => 0)) >= 1, 120_000);
}

async function holds({ redis }: Stage, keys: readonly string[]): Promise<void> {
  const contents = await redis.contents();
  for (const key of keys) expect(contents.get(key)).toBe(key);
}

async function kill({ cluster }: Stage, name: string): Promise<void> {
  await cluster.client.kind(Pod).delete({ namespace: "default", name }, { gracePeriodSeconds: 0 });
}

export const created: Scenario = async (stage) => {
  await create(stage, { replicas: 1 });
  await acknowledged(stage, "a");
  await holds(stage, ["a"]);
};

export const primaryLost: Scenario = async (stage) => {
  await create(stage, { replicas: 1 });
  await acknowledged(stage, "a");
  const { primary, epoch = 0 } = (await get(stage.cluster)).status ?? {};
  await kill(stage, primary ?? "");
  await ready(stage.cluster, ({ status }) => (status?.epoch ?? 0) > epoch);
  await holds(stage, ["a"]);
  await acknowledged(stage, "b");
  await holds(stage, ["a", "b"]);
};

export const everyoneLost: Scenario = async (stage) => {
  await create(stage, { replicas: 2 });
  await acknowledged(stage, "a");
  const { epoch = 0 } = (await get(stage.cluster)).status ?? {};
  for (const name of ["db-0", "db-1", "db-2"]) await kill(stage, name);
  await ready(stage.cluster, ({ status }) => (status?.epoch ?? 0) > epoch);
  await holds(stage, ["a"]);
};

export const drained: Scenario = async (stage) => {
  await create(stage, { replicas: 1 });
  await acknowledged(stage, "a");
  const before = (await get(stage.cluster)).status?.primary;
  const body = {
    metadata: { annotations: { "sampledb.keelson.dev/hand-over-to": before === "db-0" ? "db-1" : "db-0" } },
  };
  await stage.cluster.client.kind(SampleDB).patch(here, { type: "merge", body });
  await ready(stage.cluster, ({ status }) => status?.primary !== before);
  await holds(stage, ["a"]);
  await acknowledged(stage, "b");
};

/** The wish of a person stays on the object, and must not lead back to a server that is about to be replaced. */
export const rolledOut: Scenario = async (stage) => {
  const { client } = stage.cluster;
  await create(stage, { replicas: 1 });
  await acknowledged(stage, "a");
  const body = { metadata: { annotations: { "sampledb.keelson.dev/hand-over-to": "db-1" } } };
  await client.kind(SampleDB).patch(here, { type: "merge", body });
  await ready(stage.cluster, ({ status }) => status?.primary === "db-1");
  const uids = async () =>
    (await client.kind(Pod).list({ namespace: "default" })).items
      .filter(({ metadata }) => /^db-\d$/.test(metadata.name))
      .map(({ metadata }) => metadata.uid);
  const before = await uids();
  const settings = { databases: "17" };
  await client.kind(SampleDB).patch(here, { type: "merge", body: { spec: { settings } } });
  await stage.cluster.until(async () => (await uids()).every((uid) => !before.includes(uid)), 300_000);
  await ready(stage.cluster);
  await holds(stage, ["a"]);
  await refusesFewerDatabases(stage, uids);
};

/** Servers stay as they are, and a number that is not lower is followed. */
async function refusesFewerDatabases(
  { cluster }: Stage,
  uids: () => Promise<readonly string[]>,
): Promise<void> {
  const { client } = cluster;
  const servers = await uids();
  const ask = async (databases: string | null, timeout: string) => {
    const body = { spec: { settings: { databases, timeout } } };
    await client.kind(SampleDB).patch(here, { type: "merge", body });
  };
  for (const fewer of ["16", null]) {
    await ask(fewer, "60");
    await cluster.until(async () => {
      const { status, metadata } = await get(cluster);
      const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
      return status?.observedGeneration === metadata.generation && stalled?.reason === "SettingRefused";
    }, 60_000);
  }
  const { data } = await client.kind(ConfigMap).get({ namespace: "default", name: "db-config" });
  expect(data?.["redis.conf"]).toMatch(/^databases 17$/m);
  await ask("17", "60");
  await ready(cluster);
  expect(await uids()).toEqual(servers);
}

export const scaled: Scenario = async (stage) => {
  const to = async (replicas: number) => {
    await stage.cluster.client.kind(SampleDB).patch(here, { type: "merge", body: { spec: { replicas } } });
    await ready(stage.cluster, ({ status }) => status?.replicas === replicas);
  };
  await create(stage, { replicas: 0 });
  await to(2);
  await acknowledged(stage, "a");
  await to(1);
  await holds(stage, ["a"]);
  expect((await stage.cluster.client.kind(Node).list()).items.length).toBe(1);
};

export const deleted: Scenario = async (stage) => {
  await create(stage, { replicas: 1 });
  await stage.cluster.client.kind(SampleDB).delete(here);
  await stage.cluster.until(async () => (await stage.cluster.client.kind(SampleDB).find(here)) === undefined);
  const { items } = await stage.cluster.client.kind(Pod).list({ namespace: "default" });
  expect(
    items
      .filter(({ metadata }) => metadata.name.startsWith("db-") && metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name),
  ).toEqual([]);
};
