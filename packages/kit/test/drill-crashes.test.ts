/** An operator that dies in the middle of a drill: its successor goes on with the run, does no fault twice and leaves nothing. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { NetworkPolicy, Pod, StatefulSet } from "@keelson/core/kinds";
import type { Connector } from "@keelson/runtime";
import { type Cluster, type ClusterOptions, cluster, everyCrash } from "@keelson/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drillController, drillKind } from "../src/index.ts";

const Drill = drillKind("test.keelson.dev");
const namespace = "default";
const target = { namespace, name: "app" };
const drill = { namespace, name: "drill" };
const pods = 2;
const everyone = { victims: { all: true }, budget: { pods, runsPerDay: 24 } };

/** What the client of every drill answers: it writes, and loses nothing. */
const report = createServer((_, answer) =>
  answer.end(JSON.stringify({ acknowledged: 7, lost: 0, longestGapMs: 40 })),
);
let asking = 0;
const connect: Connector = async () => {
  asking++;
  return {
    host: "127.0.0.1",
    port: (report.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      asking--;
    },
  };
};

beforeAll(async () => {
  report.listen(0, "127.0.0.1");
  await once(report, "listening");
});
afterAll(() => report.close());

const options: ClusterOptions = {
  controllers: [
    drillController(Drill, {
      targets: [StatefulSet],
      image: () => "operator",
      client: () => ({ image: "client" }),
    }),
  ],
  workloads: true,
  connect,
  busy: () => asking > 0,
};

async function start(c: Cluster, spec: object): Promise<void> {
  const labels = { app: target.name };
  await c.client.kind(StatefulSet).create({
    metadata: target,
    spec: {
      replicas: pods,
      serviceName: target.name,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { shareProcessNamespace: true, containers: [{ name: "app", image: "app" }] },
      },
    },
  });
  await c.until(async () => (await c.client.kind(StatefulSet).get(target)).status?.readyReplicas === pods);
  await c.client.kind(Drill).create(
    Drill.object({
      metadata: drill,
      spec: { target: { kind: "StatefulSet", name: target.name }, ...spec } as never,
    }),
  );
}

async function status(c: Cluster) {
  return (await c.client.kind(Drill).get(drill)).status;
}

async function targetPods(c: Cluster) {
  return (await c.client.kind(Pod).list({ namespace, labels: `app=${target.name}` })).items;
}

async function uids(c: Cluster): Promise<string[]> {
  return (await targetPods(c)).map(({ metadata }) => metadata.uid).sort();
}

/** Nothing that a run made is there any more, and the target is as it was. */
async function expectNothingLeft(c: Cluster): Promise<void> {
  expect((await c.client.kind(NetworkPolicy).list({ namespace })).items).toEqual([]);
  const all = (await c.client.kind(Pod).list({ namespace })).items;
  expect(all.map(({ metadata }) => metadata.name).sort()).toEqual(["app-0", "app-1"]);
  for (const { metadata } of all) expect(metadata.labels).not.toHaveProperty(["keelson.dev/drill"]);
}

/** Runs until so many runs have ended, and says which pods there were meanwhile. */
async function ended(c: Cluster, runs: number): Promise<ReadonlySet<string>> {
  const met = new Set<string>();
  await c.until(async () => {
    for (const uid of await uids(c)) met.add(uid);
    const now = await status(c);
    return now?.run === undefined && now?.results?.length === runs;
  });
  return met;
}

async function everyCrashOf(scenario: (c: Cluster) => Promise<void>, leastWrites: number): Promise<void> {
  const { writes, runs } = await everyCrash(options, scenario);
  expect(writes).toBeGreaterThanOrEqual(leastWrites);
  expect(runs).toBe(2 * writes + 1);
}

describe("a drill whose operator dies at any write", { timeout: 300_000 }, () => {
  test("deletes each of all pods once", async () => {
    await everyCrashOf(async (c) => {
      await start(c, { fault: "DeletePod", ...everyone });
      const before = await uids(c);
      const met = await ended(c, 1);
      const after = await uids(c);
      expect(after.filter((uid) => before.includes(uid))).toEqual([]);
      expect(met.size).toBe(2 * pods);
      const [result] = (await status(c))?.results ?? [];
      expect(result).toMatchObject({ recovered: true, victims: expect.arrayContaining(["app-0", "app-1"]) });
      expect(result).toMatchObject({ acknowledged: 7, lost: 0, longestGapSeconds: 0.04 });
      await c.converges();
      expect(await uids(c)).toEqual(after);
      await expectNothingLeft(c);
    }, 6);
  });

  test("enters each victim with one container that kills", async () => {
    await everyCrashOf(async (c) => {
      await start(c, { fault: "Kill", ...everyone });
      const entered = async () =>
        (await targetPods(c)).map(({ spec }) => spec?.ephemeralContainers?.length ?? 0);
      await c.until(async () => (await entered()).every((count) => count > 0));
      for (const { metadata, spec, status: was } of await targetPods(c)) {
        const name = spec?.ephemeralContainers?.[0]?.name;
        const [app] = was?.containerStatuses ?? [];
        const terminated = { exitCode: 0, reason: "Completed" };
        await c.client
          .kind(Pod)
          .subresource("status")
          .patch(metadata, {
            type: "merge",
            body: {
              status: {
                containerStatuses: [{ ...app, restartCount: 1 }],
                ephemeralContainerStatuses: [{ name, state: { terminated } }],
              },
            } as never,
          });
      }
      await ended(c, 1);
      await c.converges();
      expect(await entered()).toEqual([1, 1]);
      expect((await status(c))?.results).toMatchObject([{ recovered: true, fault: "Kill" }]);
      await expectNothingLeft(c);
    }, 6);
  });

  test("cuts all pods off for its time, and then lets them back", async () => {
    await everyCrashOf(async (c) => {
      await start(c, { fault: "CutOff", durationSeconds: 3, ...everyone });
      const cut = async () =>
        (await targetPods(c)).filter(({ metadata }) => metadata.labels?.["keelson.dev/drill"] !== undefined);
      await c.until(async () => (await cut()).length === pods);
      expect((await c.client.kind(NetworkPolicy).list({ namespace })).items).toHaveLength(1);
      await ended(c, 1);
      await c.converges();
      const [result] = (await status(c))?.results ?? [];
      expect(result).toMatchObject({ recovered: true, fault: "CutOff" });
      await expectNothingLeft(c);
    }, 8);
  });
});

/** A schedule writes much: the operator dies at some of its writes, spread over two runs. */
const deaths = [1, 5, 9, 13, 17, 21, 25, 29].map(
  (write, index) => [write, index % 2 === 0 ? "before" : "after"] as const,
);

test.each(deaths)(
  "a scheduled drill whose operator dies at write %i, %s it, runs once for each due time until it is suspended",
  { timeout: 60_000 },
  async (write, when) => {
    await using c = await cluster(options);
    c.crashAt(write, when);
    await start(c, { fault: "DeletePod", schedule: "* * * * *", ...everyone });
    const met = await ended(c, 2);
    expect(met.size).toBe(3 * pods);
    const { results = [] } = (await status(c)) ?? {};
    expect(results).toMatchObject([{ recovered: true }, { recovered: true }]);
    const minutes = results.map(({ at }) => at.slice(0, "2026-01-01T00:00".length));
    expect(new Set(minutes).size).toBe(2);
    await c.client.kind(Drill).patch(drill, { type: "merge", body: { spec: { suspend: true } } });
    await c.until(async () => (await status(c))?.phase === "Suspended");
    const suspended = await uids(c);
    await c.advance(180_000);
    expect((await status(c))?.results).toHaveLength(2);
    expect(await uids(c)).toEqual(suspended);
    await expectNothingLeft(c);
  },
);

test("a drill of all pods never begins beyond its budget", async () => {
  await using c = await cluster(options);
  await start(c, { fault: "DeletePod", schedule: "* * * * *", victims: { all: true }, budget: { pods: 1 } });
  const before = await uids(c);
  await c.advance(300_000);
  expect((await status(c))?.message).toContain("more than the 1 that budget.pods allows");
  expect(await uids(c)).toEqual(before);
});
