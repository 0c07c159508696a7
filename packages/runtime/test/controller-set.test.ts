/** Controllers that a reconcile starts, replaces and stops while the operator runs. */
import { ConfigMap, Secret, Service } from "@keelson/core/kinds";
import { controller, done, many, own, roleFor, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Thing = resource({ group: "test.example.com", kind: "Thing", version: "v1", spec: z.object({}) });
const Switch = resource({
  group: "test.example.com",
  kind: "Switch",
  version: "v1",
  spec: z.object({ makes: z.enum(["config", "service", "nothing", "unknown"]) }),
});
const Unknown = { ...Service, group: "nowhere.example.com", kind: "Unknown", resource: "unknowns" };

const makers = {
  config: controller(Thing, {
    owns: { config: ConfigMap },
    compose: () => ({ children: { config: { data: { made: "yes" } } } }),
  }),
  service: controller(Thing, {
    owns: { service: Service, config: own(ConfigMap) },
    compose: () => ({ children: { service: { spec: { ports: [{ port: 80 }] } } } }),
  }),
  unknown: controller(Thing, { owns: { it: Unknown }, compose: () => ({ children: {} }) }),
};

const starter = controller(Switch, {
  async reconcile({ spec: { makes } }, ctx) {
    if (makes === "nothing") await ctx.controllers.stop("thing");
    else if (ctx.controllers.get("thing") !== makers[makes]) await ctx.controllers.start(makers[makes]);
    return done();
  },
});

const ref = { namespace: "default", name: "a" };
const rules = roleFor([makers.config, makers.service]);
const start = async () => await cluster({ controllers: [starter], resources: [Thing], rules });

test("a started controller reconciles what is there and what comes, and its successor takes over", async () => {
  await using c = await start();
  await c.client.kind(Thing).create(Thing.object({ metadata: ref, spec: {} }));
  await c.client.kind(Switch).create(Switch.object({ metadata: ref, spec: { makes: "config" } }));
  await c.converges();
  expect(await c.client.kind(ConfigMap).find(ref)).toBeDefined();
  await c.client.kind(Thing).create(Thing.object({ metadata: { ...ref, name: "b" }, spec: {} }));
  await c.converges();
  expect(await c.client.kind(ConfigMap).find({ ...ref, name: "b" })).toBeDefined();

  await c.client.kind(Switch).patch(ref, { type: "merge", body: { spec: { makes: "service" } } });
  await c.converges();
  for (const name of ["a", "b"]) {
    expect(await c.client.kind(Service).find({ ...ref, name })).toBeDefined();
    expect(await c.client.kind(ConfigMap).find({ ...ref, name })).toBeUndefined();
  }
  c.crash();
  await c.client.kind(Service).delete(ref);
  await c.converges();
  expect(await c.client.kind(Service).find(ref)).toBeDefined();
  expect(c.forbidden).toEqual([]);
});

test("a stopped controller does nothing more and its caches are gone", async () => {
  await using c = await start();
  await c.client.kind(Switch).create(Switch.object({ metadata: ref, spec: { makes: "config" } }));
  await c.converges();
  const kinds = () => c.managers[0]?.informers?.all().map(({ kind }) => kind.kind);
  expect(kinds()).toEqual(["Switch", "Thing", "ConfigMap"]);
  await c.client.kind(Switch).patch(ref, { type: "merge", body: { spec: { makes: "nothing" } } });
  await c.converges();
  expect(kinds()).toEqual(["Switch"]);
  await c.client.kind(Thing).create(Thing.object({ metadata: ref, spec: {} }));
  await c.advance(60_000);
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
});

test("a kind that nobody serves leaves the controller that runs in its place", async () => {
  await using c = await start();
  await c.client.kind(Switch).create(Switch.object({ metadata: ref, spec: { makes: "config" } }));
  await c.converges();
  await c.client.kind(Switch).patch(ref, { type: "merge", body: { spec: { makes: "unknown" } } });
  await c.advance(60_000);
  const [condition] = (await c.client.kind(Switch).get(ref)).status?.conditions ?? [];
  expect(condition?.message).toContain("Unknown.nowhere.example.com");
  await c.client.kind(Thing).create(Thing.object({ metadata: ref, spec: {} }));
  await c.advance(60_000);
  expect(await c.client.kind(ConfigMap).find(ref)).toBeDefined();
});

test("a cache that may not be filled is told after half a minute, and tried again", async () => {
  await using c = await cluster({ controllers: [starter], resources: [Thing] });
  await c.client.kind(Switch).create(Switch.object({ metadata: ref, spec: { makes: "config" } }));
  await c.advance(40_000);
  const messages = (await c.client.kind(Switch).get(ref)).status?.conditions?.map(({ message }) => message);
  expect(messages?.join()).toContain("no complete cache of Thing.test.example.com (");
  expect(messages?.join()).toContain("forbidden");
});

const Far = resource({
  group: "test.example.com",
  kind: "Far",
  version: "v1",
  spec: z.object({ place: z.string() }),
});

test("children that outlive their owner may live in another namespace, each with its own owner", async () => {
  const far = controller(Far, {
    owns: {
      secrets: many(Secret, { outlives: true, adopts: ({ metadata }) => metadata.labels?.free === "yes" }),
    },
    async reconcile({ metadata, spec }, ctx) {
      const name = `${metadata.namespace}-${metadata.name}`;
      await ctx.own.secrets.apply("it", { metadata: { namespace: spec.place, name } });
      return ctx.own.secrets.get("it") ? done() : waiting("NotSeen", "the Secret is not seen");
    },
    async finalize(_far, ctx) {
      for (const key of ctx.own.secrets.entries().keys()) await ctx.own.secrets.delete(key);
      return ctx.own.secrets.list().length === 0 ? done() : waiting("Deleting", "the Secret is still there");
    },
  });
  await using c = await cluster({ controllers: [far] });
  for (const name of ["one", "two", "store"]) {
    await c.client.kind({ ...Secret, kind: "Namespace", resource: "namespaces", scope: "Cluster" }).create({
      metadata: { name },
    });
  }
  const secret = { namespace: "store", name: "one-x" };
  await c.client.kind(Secret).create({ metadata: { ...secret, labels: { free: "yes" } } });
  for (const namespace of ["one", "two"]) {
    await c.client
      .kind(Far)
      .create(Far.object({ metadata: { namespace, name: "x" }, spec: { place: "store" } }));
  }
  await c.converges();
  await c.client.kind(Secret).delete(secret);
  await c.converges();
  expect(await c.client.kind(Secret).find(secret)).toBeDefined();
  await c.client.kind(Far).delete({ namespace: "one", name: "x" });
  await c.converges();
  expect(await c.client.kind(Secret).find(secret)).toBeUndefined();
  expect(await c.client.kind(Secret).find({ namespace: "store", name: "two-x" })).toBeDefined();
});
