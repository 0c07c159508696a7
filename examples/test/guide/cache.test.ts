/** The Cache operator of the guide, in virtual time. */
import { cluster, everyCrash } from "@keelson/testing";
import { Deployment, Service } from "keelson/kinds";
import { expect, test } from "vitest";
import { Cache } from "../../src/guide/cache.ts";
import { cache } from "../../src/guide/compose.ts";

const here = { namespace: "default", name: "sessions" };

test("becomes a Deployment that follows its size", async () => {
  await using c = await cluster({ controllers: [cache], workloads: true, seed: 7 });
  await c.client.kind(Cache).create(Cache.object({ metadata: here, spec: { size: 2 } }));
  await c.converges({ writesWhenIdle: 0 });
  expect((await c.client.kind(Cache).get(here)).status?.readyReplicas).toBe(2);

  await c.client.kind(Deployment).patch(here, { type: "merge", body: { spec: { replicas: 9 } } });
  await c.client.kind(Service).delete(here);
  await c.converges();
  expect((await c.client.kind(Deployment).get(here)).spec?.replicas).toBe(2);
  expect(await c.client.kind(Service).find(here)).toBeDefined();
});

test("leaves nothing half done, whenever its manager dies", async () => {
  await everyCrash({ controllers: [cache] }, async (c) => {
    await c.client.kind(Cache).create(Cache.object({ metadata: here, spec: { size: 2 } }));
    await c.converges({ ready: false });
    expect((await c.client.kind(Deployment).get(here)).spec?.replicas).toBe(2);
  });
});

test("is refused by the server when its window is the wrong way round", async () => {
  await using c = await cluster({ resources: [Cache] });
  const wrong = Cache.object({ metadata: here, spec: { window: { from: 9, to: 8 } } });
  await expect(c.client.kind(Cache).create(wrong)).rejects.toThrow("the window ends before it begins");
});
