/** What a new user meets first: each mistake has one sentence, where the user looks for it. */
import { type Condition, findCondition } from "@keelson/core";
import { ConfigMap, Deployment, Event } from "@keelson/core/kinds";
import {
  controller,
  done,
  type Logger,
  operator,
  own,
  retired,
  silentLogger,
  waiting,
} from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { type Cluster, cluster } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ value: z.string().default("") }),
  status: z.object({ count: z.int().max(3).optional(), note: z.string().optional() }),
});
const ref = { namespace: "default", name: "a" };
const make = (c: Cluster) => c.client.kind(Thing).create({ metadata: ref, spec: {} });
const conditionOf = async (c: Cluster, type: string) =>
  findCondition((await c.client.kind(Thing).get(ref)).status?.conditions as Condition[], type);

describe("a status that the CRD refuses", () => {
  test("becomes a condition, beside what was said before", async () => {
    let count = 1;
    const thing = controller(Thing, {
      async reconcile(_thing, ctx) {
        ctx.setStatus({ count, note: "counted" });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await make(c);
    await c.converges();
    count = 9;
    for (const manager of c.managers) manager.resync();
    await c.advance(10_000);
    expect(await conditionOf(c, "Stalled")).toMatchObject({ status: "True", reason: "InvalidStatus" });
    expect((await conditionOf(c, "Ready"))?.message).toContain("status.count: Invalid value: 9");
    expect((await c.client.kind(Thing).get(ref)).status).toMatchObject({ count: 1, note: "counted" });
    count = 2;
    await c.converges();
    expect((await c.client.kind(Thing).get(ref)).status?.count).toBe(2);
  });

  test("becomes a condition when a field is not declared at all", async () => {
    const thing = controller(Thing, {
      async reconcile(_thing, ctx) {
        ctx.setStatus({ coumt: 1 } as never);
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await make(c);
    await c.advance(10_000);
    expect(await conditionOf(c, "Stalled")).toMatchObject({ status: "True", reason: "InvalidStatus" });
    expect((await conditionOf(c, "Ready"))?.message).toContain(".status.coumt: field not declared in schema");
  });
});

describe("a child that the server refuses", () => {
  test.each([
    ["an invalid field", { spec: { replicas: -1 } }, "spec.replicas: Invalid value: -1"],
    ["a misspelt field", { spec: { replica: 3 } }, ".spec.replica: field not declared in schema"],
    ["a Map", { metadata: { labels: new Map() } }, "metadata.labels is a Map, which JSON cannot carry"],
    ["a function", { spec: { paused: () => true } }, "spec.paused is a function, which JSON cannot carry"],
  ])("for %s is InvalidChild, as the guide says", async (_what, child, sentence) => {
    const thing = controller(Thing, {
      owns: { deployment: own(Deployment) },
      compose: () => ({ children: { deployment: child as never } }),
    });
    await using c = await cluster({ controllers: [thing] });
    await make(c);
    await c.advance(10_000);
    expect(await conditionOf(c, "Stalled")).toMatchObject({ status: "True", reason: "InvalidChild" });
    expect((await conditionOf(c, "Ready"))?.message).toContain(sentence);
  });
});

test("a value in a status that JSON cannot carry is named by its path", async () => {
  const thing = controller(Thing, {
    async reconcile(_thing, ctx) {
      ctx.setStatus({ note: new Date(0) as never });
      return done();
    },
  });
  await using c = await cluster({ controllers: [thing] });
  await make(c);
  await c.advance(10_000);
  expect((await conditionOf(c, "Ready"))?.message).toBe(
    "status.note is a Date, which JSON cannot carry; write date.toISOString()",
  );
});

test("a composition without children says so", async () => {
  const thing = controller(Thing, { compose: () => ({ status: { count: 1 } }) as never });
  await using c = await cluster({ controllers: [thing] });
  await make(c);
  await c.advance(10_000);
  expect((await conditionOf(c, "Ready"))?.message).toBe(
    'compose of controller "thing" returned {"status":{"count":1}}, which has no children; return { children: { … } } with all that should be, or waiting() or fail()',
  );
});

test("a required field that stored objects lack is named, in place of a TypeError", async () => {
  const Later = resource({
    ...{ group: "test.example.com", kind: "Thing", version: "v1" },
    spec: z.object({ tags: z.array(z.string()) }),
    status: z.object({ count: z.int().optional() }),
  });
  const earlier = controller(Thing, { reconcile: async () => waiting("Old", "is left to the next release") });
  await using before = await cluster({ controllers: [earlier] });
  await make(before);
  await before.settle();
  const later = controller(Later, {
    compose: ({ spec }) => ({ children: {}, status: { count: spec.tags.length } }),
  });
  await using c = await cluster({ controllers: [later], from: before.snapshot() });
  await c.advance(10_000);
  expect(await conditionOf(c, "Stalled")).toMatchObject({ status: "True", reason: "InvalidObject" });
  expect((await conditionOf(c, "Ready"))?.message).toContain(
    "the stored object does not fit its schema: Thing: spec.tags: ",
  );
});

describe("two controllers of one kind", () => {
  const thing = (name: string, options: object = {}) =>
    controller(Thing, { name, reconcile: async () => done(), ...options });

  test("are refused when both would write the status", () => {
    expect(() => operator({ controllers: [thing("one"), thing("two")] })).toThrow(
      'controllers "one" and "two" would both write the status of Thing.test.example.com; give one of them status: "manual", or each its own objects by labels',
    );
  });

  test("work side by side when one leaves the status alone, or each has its own objects", async () => {
    const seen: string[] = [];
    const manual = controller(Thing, {
      name: "two",
      status: "manual",
      owns: { config: ConfigMap },
      async reconcile(object, ctx) {
        seen.push(object.metadata.name);
        await ctx.own.config.apply({ data: {} });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing("one"), manual] });
    await make(c);
    await c.converges();
    expect(seen).toContain("a");
    expect(() =>
      operator({ controllers: [thing("one", { labels: "tier=a" }), thing("two", { labels: "tier=b" })] }),
    ).not.toThrow();
  });
});

test("a slot that disappeared is reported once, in the log and as an event, until it is retired", async () => {
  const first = controller(Thing, {
    owns: { config: ConfigMap },
    compose: () => ({ children: { config: { data: {} } } }),
  });
  await using before = await cluster({ controllers: [first] });
  await make(before);
  await before.converges();

  const lines: string[] = [];
  const log: Logger = { ...silentLogger, warn: (message) => lines.push(message), child: () => log };
  const second = controller(Thing, { compose: () => ({ children: {} }) });
  await using c = await cluster({ controllers: [second], from: before.snapshot(), log });
  await c.converges({ resyncs: 2 });
  const sentence =
    'ConfigMap a was made by a release that had the slot "config"; declare config: retired(ConfigMap) to have it deleted, or delete it yourself';
  expect(lines).toEqual([sentence]);
  const { items: events } = await c.client.kind(Event).list({ namespace: "default" });
  expect(events).toMatchObject([{ reason: "LeftBehind", message: sentence }]);

  const third = controller(Thing, {
    owns: { config: retired(ConfigMap) },
    compose: () => ({ children: {} }),
  });
  await using last = await cluster({ controllers: [third], from: c.snapshot() });
  await last.converges();
  expect(await last.client.kind(ConfigMap).find(ref)).toBeUndefined();
});

test("the backoff of a controller is a setting", async () => {
  const tries = async (backoff: { firstMs?: number; longestMs?: number }) => {
    let count = 0;
    const thing = controller(Thing, {
      backoff,
      reconcile: async () => {
        count++;
        throw new Error("no");
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await make(c);
    await c.advance(600_000);
    return count;
  };
  expect(await tries({ firstMs: 60_000 })).toBeLessThanOrEqual(5);
  expect(await tries({ firstMs: 1_000, longestMs: 10_000 })).toBeGreaterThan(55);
});

describe("an operator that cannot lead", () => {
  const thing = controller(Thing, { reconcile: async () => done() });

  test("is not ready and says why, until it can", async () => {
    await using c = await cluster({
      controllers: [thing],
      leaderElection: { name: "another-name" },
    });
    await c.advance(1_000);
    const [manager] = c.managers;
    expect(manager?.running?.leading).toBe(false);
    expect(manager?.running?.ready()).toMatch(
      /^cannot hold the Lease default\/another-name: .* is forbidden: .*; the role must name the Lease that operator\(\{ name \}\) or leaderElection: \{ name \} names$/,
    );
  });

  test("is ready while another leads, and while the server is away for a moment", async () => {
    await using c = await cluster({ controllers: [thing], managers: 2 });
    await c.advance(5_000);
    expect(c.managers.map((manager) => manager.running?.ready())).toEqual([undefined, undefined]);
    const standby = c.managers.find((manager) => !manager.running?.leading);
    const outage = c.outage();
    await c.advance(10_000);
    expect(standby?.running?.ready()).toBeUndefined();
    outage.end();
    await c.advance(60_000);
    expect(c.managers.map((manager) => manager.running?.ready())).toEqual([undefined, undefined]);
  });
});
