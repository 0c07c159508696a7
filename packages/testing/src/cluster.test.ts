import { ConfigMap, Deployment, Service } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { cluster } from "./cluster.ts";
import { everyCrash } from "./every-crash.ts";
import { conflict, serverError, tooManyRequests } from "./faults.ts";
import { Memcached, memcached } from "./memcached.fixture.ts";

const ref = { namespace: "default", name: "a" };

async function create(
  c: Awaited<ReturnType<typeof cluster>>,
  spec: { size?: number; extra?: string[] } = {},
) {
  return await c.client.kind(Memcached).create({ metadata: ref, spec });
}

describe("a cluster for a test", () => {
  test("runs controllers until everything is at rest, and then nothing is written any more", async () => {
    await using c = await cluster({ controllers: [memcached], seed: 7 });
    await create(c, { size: 2, extra: ["x", "y"] });
    await c.converges({ writesWhenIdle: 0, resyncs: 10 });
    expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(2);
    expect((await c.client.kind(Memcached).get(ref)).status?.configs).toBe(2);
  });

  test("tells the same story twice for the same seed", async () => {
    const story = async (seed: number) => {
      await using c = await cluster({ controllers: [memcached], seed });
      await create(c, { extra: ["x", "y"] });
      await c.converges();
      return c.requests.map(({ method, path, atMs }) => `${atMs} ${method} ${path}`);
    };
    expect(await story(3)).toEqual(await story(3));
  });

  test("drift is repaired", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c);
    await c.converges();
    await c.client.kind(Deployment).patch(ref, { type: "merge", body: { spec: { replicas: 9 } } });
    await c.converges();
    expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(3);
    await c.client.kind(Service).delete(ref);
    await c.converges();
    expect(await c.client.kind(Service).find(ref)).toBeDefined();
  });

  test("what a composition leaves out is pruned", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c, { extra: ["x", "y"] });
    await c.converges();
    await c.client.kind(Memcached).patch(ref, { type: "merge", body: { spec: { extra: ["y"] } } });
    await c.converges();
    const { items } = await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a-y"]);
  });
});

describe("faults", () => {
  for (const [name, fault] of [
    ["409", conflict()],
    ["429 with Retry-After", tooManyRequests(3)],
    ["500", serverError()],
    ["503", serverError(503)],
    ["a refused connection", { type: "refuse" }],
    ["a connection that breaks before the request is read", { type: "reset" }],
    ["an answer that is lost after the commit", { type: "lose-answer" }],
    ["an answer that never comes after the commit", { type: "timeout-after-commit" }],
    ["silence", { type: "silence" }],
    ["a slow server", { type: "delay", ms: 20_000 }],
  ] as const) {
    test(`${name} at every write, one after the other, is survived without residue`, async () => {
      let total = 1;
      for (let n = 1; n <= total; n++) {
        await using c = await cluster({ controllers: [memcached] });
        c.faults.inject({ on: ({ index }) => index === n, fault });
        await create(c, { extra: ["x"] });
        await c.converges();
        if (n === 1) total = Math.min(c.writes.length, 8);
        expect(await c.client.kind(Deployment).find(ref)).toBeDefined();
        expect(
          (await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" })).items,
        ).toHaveLength(1);
      }
    });
  }

  test("a crash before or after any write is survived", async () => {
    const report = await everyCrash({ controllers: [memcached] }, async (c) => {
      await create(c, { extra: ["x", "y"] });
      await c.converges();
      await c.client.kind(Memcached).patch(ref, { type: "merge", body: { spec: { size: 5, extra: ["y"] } } });
      await c.converges();
      expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(5);
      const { items } = await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["a-y"]);
    });
    expect(report.writes).toBeGreaterThan(6);
    expect(report.runs).toBe(1 + 2 * report.writes);
  });
});
