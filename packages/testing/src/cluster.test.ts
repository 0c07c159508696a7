import { ConfigMap, Deployment, Service } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { cluster } from "./cluster.ts";
import { change, create, Memcached, memcached } from "./memcached.fixture.ts";

const ref = { namespace: "default", name: "a" };

describe("a cluster for a test", () => {
  test("runs controllers until everything is at rest, and then nothing is written any more", async () => {
    await using c = await cluster({ controllers: [memcached], seed: 7 });
    await create(c.client, "a", { size: 2, extra: ["x", "y"] });
    await c.converges({ writesWhenIdle: 0, resyncs: 10 });
    expect((await c.client.kind(Deployment).get(ref)).spec?.replicas).toBe(2);
    expect((await c.client.kind(Memcached).get(ref)).status?.configs).toBe(2);
  });

  test("tells the same story twice for the same seed", async () => {
    const story = async (seed: number) => {
      await using c = await cluster({ controllers: [memcached], seed });
      await create(c.client, "a", { extra: ["x", "y"] });
      await c.converges();
      return c.requests.map(({ method, path, atMs }) => `${atMs} ${method} ${path}`);
    };
    expect(await story(3)).toEqual(await story(3));
  });

  test("drift is repaired", async () => {
    await using c = await cluster({ controllers: [memcached] });
    await create(c.client, "a");
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
    await create(c.client, "a", { extra: ["x", "y"] });
    await c.converges();
    await change(c.client, "a", { extra: ["y"] });
    await c.converges();
    const { items } = await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a-y"]);
  });
});
