/** What calls a reconcile beside its own kind: polls, events from outside, several namespaces, and kinds of others. */
import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { ConfigMap, Namespace, Pod, Secret } from "@keelson/core/kinds";
import { all, controller, done, install, operator, poll, silentLogger, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "./servers.ts";

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ sku: z.string().default("a") }),
  status: z.object({ price: z.int().optional() }),
});
const ref = { namespace: "default", name: "a" };

describe("a poll", () => {
  test("brings an object back when what is outside has changed, and not before", async () => {
    const prices: Record<string, number> = { a: 1, b: 7 };
    const looks: string[] = [];
    let away = false;
    let reconciles = 0;
    const thing = controller(Thing, {
      reads: {
        price: poll(
          async (object) => {
            looks.push(object.spec.sku);
            if (away) throw new Error("the shop is closed");
            return prices[object.spec.sku] ?? 0;
          },
          { everyMs: 60_000 },
        ),
      },
      async reconcile(_thing, ctx) {
        reconciles++;
        const { price } = ctx.read;
        if (price === undefined) return waiting("NoPrice", "the shop was not asked yet");
        ctx.setStatus({ price });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await c.client.kind(Thing).create({ metadata: ref, spec: {} });
    const price = async () => (await c.client.kind(Thing).get(ref)).status?.price;
    await c.settle();
    expect(await price()).toBe(1);
    await c.advance(3_600_000);
    const quiet = reconciles;
    expect(looks.length).toBeGreaterThan(55);
    expect(looks.length).toBeLessThan(66);
    await c.advance(600_000);
    expect(reconciles).toBe(quiet);
    prices["a"] = 2;
    await c.advance(64_000);
    expect(await price()).toBe(2);
    // Another spec is looked at at once; an outside that is away changes nothing.
    await c.client.kind(Thing).patch(ref, { type: "merge", body: { spec: { sku: "b" } } });
    await c.settle();
    expect(await price()).toBe(7);
    away = true;
    await c.advance(600_000);
    expect(await price()).toBe(7);
    const before = looks.length;
    await c.client.kind(Thing).delete(ref);
    await c.advance(600_000);
    expect(looks.length - before).toBeLessThanOrEqual(1);
  });

  test("is looked at by the process that leads, and by its successor", async () => {
    let looks = 0;
    const thing = controller(Thing, {
      reads: { outside: poll(async () => ++looks, { everyMs: 10_000 }) },
      compose: (_thing, { outside }) => ({
        children: {},
        status: outside === undefined ? {} : { price: outside },
      }),
    });
    await using c = await cluster({ controllers: [thing], managers: 2 });
    await c.client.kind(Thing).create({ metadata: ref, spec: {} });
    await c.advance(100_000);
    expect(looks).toBeLessThan(14);
    expect((await c.client.kind(Thing).get(ref)).status?.price).toBe(looks);
    c.crash(c.managers.find(({ running }) => running?.leading));
    await c.advance(100_000);
    const before = looks;
    await c.advance(30_000);
    expect(looks).toBeGreaterThan(before);
  });

  test("is looked at for objects that were there before and do not change", async () => {
    const looks: string[] = [];
    const thing = controller(Thing, {
      reads: {
        outside: poll(
          async ({ metadata }) => {
            looks.push(metadata.name);
            return 1;
          },
          { everyMs: 10_000 },
        ),
      },
      reconcile: async () => done(),
    });
    await using c = await cluster({ controllers: [thing], managers: 2 });
    await c.client.kind(Thing).create({ metadata: ref, spec: {} });
    await c.advance(30_000);
    const { resourceVersion } = (await c.client.kind(Thing).get(ref)).metadata;
    c.crash(c.managers.find(({ running }) => running?.leading));
    looks.length = 0;
    await c.advance(60_000);
    expect((await c.client.kind(Thing).get(ref)).metadata.resourceVersion).toBe(resourceVersion);
    expect(looks).toContain("a");
  });
});

describe("an event from outside", () => {
  test("is served beside the health, checked by the author, and looked up in the cluster", async () => {
    await using server = await apiServer();
    const client = createClient({ http: server.http });
    await install(client, [Thing]);
    await client.kind(Thing).create({ metadata: ref, spec: {} });
    const causes: string[] = [];
    const thing = controller(Thing, {
      wakes: {
        shop: ({ headers, body }) => {
          if (headers["x-token"] !== "s3cret") return undefined;
          return [{ namespace: "default", name: body }];
        },
      },
      async reconcile(_thing, { causes: why }) {
        causes.push(...why.map(({ type, kind }) => `${type}:${kind}`));
        return done();
      },
    });
    await using running = await operator({
      ...{ controllers: [thing], client, log: silentLogger, leaderElection: false },
      endpoints: { port: 0, host: "127.0.0.1" },
    }).start();
    const send = async (path: string, body: string, token = "s3cret") => {
      const url = `http://127.0.0.1:${running.port}${path}`;
      return (await fetch(url, { method: "POST", body, headers: { "x-token": token } })).status;
    };
    await eventually(() => expect(causes.length).toBeGreaterThan(0));
    expect(await send("/wake/thing/shop", "a", "guess")).toBe(403);
    expect(await send("/wake/thing/other", "a")).toBe(404);
    expect(await send("/wake/thing/shop", "x".repeat(2 << 20))).toBe(413);
    expect(await send("/wake/thing/shop", "nobody")).toBe(202);
    expect(await send("/wake/thing/shop", "a")).toBe(202);
    await eventually(() => expect(causes).toContain("wake:shop"));
  });
});

describe("several namespaces", () => {
  test("are looked at, and no other", async () => {
    await using server = await apiServer();
    const client = createClient({ http: server.http });
    await install(client, [Thing]);
    for (const namespace of ["one", "two", "three"]) {
      await client.kind(Namespace).create({ metadata: { name: namespace } });
      await client.kind(Secret).create({ metadata: { namespace, name: `secret-of-${namespace}` } });
      await client.kind(Thing).create({ metadata: { namespace, name: "a" }, spec: {} });
    }
    const seen = new Map<string, string[]>();
    const thing = controller(Thing, {
      owns: { config: ConfigMap },
      reads: { secrets: all(Secret) },
      async reconcile(object, ctx) {
        seen.set(
          String(object.metadata.namespace),
          ctx.read.secrets.map(({ metadata }) => metadata.name),
        );
        await ctx.own.config.apply({ data: {} });
        return done();
      },
    });
    const base = { controllers: [thing], client, log: silentLogger, leaderElection: false, endpoints: false };
    await using _running = await operator({ ...base, namespaces: ["one", "two"] }).start();
    await eventually(async () => {
      const { items } = await client.kind(ConfigMap).list({ labels: "keelson.dev/controller=thing" });
      expect(items.map(({ metadata }) => metadata.namespace).sort()).toEqual(["one", "two"]);
    });
    expect(seen).toEqual(
      new Map([
        ["one", ["secret-of-one"]],
        ["two", ["secret-of-two"]],
      ]),
    );
  });

  test("are refused for kinds that have none", async () => {
    await using c = await cluster();
    const namespaces = controller(Namespace, { reconcile: async () => done() });
    const started = operator({
      controllers: [namespaces],
      client: c.client,
      namespaces: ["one"],
      log: silentLogger,
    });
    await expect(started.start()).rejects.toThrow(
      'controller "namespace" is for a kind without a namespace: it cannot be limited to one',
    );
  });
});

describe("a kind of another's", () => {
  const pod = { metadata: ref, spec: { containers: [{ name: "a", image: "b" }] } };
  const zones = controller(Pod, {
    name: "zones",
    decorates: true,
    async reconcile(object, ctx) {
      const zone = object.metadata.annotations?.["wanted"];
      if (zone !== undefined)
        ctx.decorate({ labels: { zone }, annotations: { "zone.example.com/by": "zones" } });
      return done();
    },
  });

  test("is decorated, repaired, and left as it was when nothing is asked for", async () => {
    await using c = await cluster({ controllers: [zones] });
    const pods = c.client.kind(Pod);
    await pods.create({ ...pod, metadata: { ...ref, labels: { app: "x" }, annotations: { wanted: "eu" } } });
    await c.converges();
    expect((await pods.get(ref)).metadata.labels).toEqual({ app: "x", zone: "eu" });
    await pods.patch(ref, { type: "merge", body: { metadata: { labels: { zone: null } } } });
    await c.converges();
    expect((await pods.get(ref)).metadata.labels).toEqual({ app: "x", zone: "eu" });
    await pods.patch(ref, { type: "merge", body: { metadata: { annotations: { wanted: null } } } });
    await c.converges();
    expect((await pods.get(ref)).metadata.labels).toEqual({ app: "x" });
    expect((await pods.get(ref)).metadata.annotations ?? {}).toEqual({});
  });

  test("is not touched by a controller that does not say so", async () => {
    const messages: string[] = [];
    const silent = controller(Pod, {
      async reconcile(_pod, ctx) {
        try {
          ctx.decorate({ labels: { a: "b" } });
        } catch (error) {
          messages.push((error as Error).message);
        }
        return done();
      },
    });
    await using c = await cluster({ controllers: [silent] });
    await c.client.kind(Pod).create(pod);
    await c.settle();
    expect(messages[0]).toContain("does not declare decorates: true");
  });

  test("may be known only at run time", async () => {
    await using c = await cluster({ resources: [Thing] });
    const found = await c.client.discover("test.example.com/v1", "Thing");
    const names: string[] = [];
    const any = controller(found, {
      reconcile: async (object) => {
        names.push(object.metadata.name);
        return done();
      },
    });
    await c.client.kind(dynamicKind({ ...found })).create({ metadata: ref, spec: {} } as never);
    await using _running = await operator({
      controllers: [any],
      client: c.client,
      log: silentLogger,
    }).start();
    await eventually(() => expect(names).toEqual(["a"]));
  });
});
