/** The Memcached operator in virtual time: a manager that dies at each write, and nothing to do when all is done. */
import { cluster, everyCrash } from "@keelson/testing";
import { Deployment, Pod, Service } from "keelson/kinds";
import { expect, test } from "vitest";
import { Memcached, memcached } from "../src/index.ts";

const here = { namespace: "default", name: "sessions" };
const options = { controllers: [memcached], workloads: true };

test("leaves what was asked for, whenever its manager dies", { timeout: 300_000 }, async () => {
  const { writes, runs } = await everyCrash(options, async (c) => {
    await c.client.kind(Memcached).create(Memcached.object({ metadata: here, spec: { size: 2 } }));
    await c.converges();
    expect((await c.client.kind(Memcached).get(here)).status?.readyReplicas).toBe(2);
    await c.client.kind(Memcached).patch(here, { type: "merge", body: { spec: { size: 1 } } });
    await c.client.kind(Service).delete(here);
    await c.converges();
    expect((await c.client.kind(Deployment).get(here)).spec?.replicas).toBe(1);
    expect((await c.client.kind(Pod).list({ namespace: "default" })).items).toHaveLength(1);
    expect(await c.client.kind(Service).find(here)).toBeDefined();
  });
  expect(writes).toBeGreaterThan(5);
  expect(runs).toBe(2 * writes + 1);
});

test("writes nothing when ten resyncs find nothing to do", async () => {
  await using c = await cluster(options);
  await c.client.kind(Memcached).create(Memcached.object({ metadata: here, spec: {} }));
  await c.converges({ resyncs: 10, writesWhenIdle: 0 });
});
