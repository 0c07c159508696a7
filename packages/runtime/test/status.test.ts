/** Status and steps under virtual time, with crashes. */
import { findCondition } from "@keelson/core";
import { ConfigMap, Event, Secret } from "@keelson/core/kinds";
import { controller, done, fail, type Logger, many, own, silentLogger, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { type Cluster, cluster, everyCrash, serverError } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ value: z.string().default("") }),
  status: z.object({
    seen: z.string().optional(),
    agent: z.string().optional(),
    nested: z.object({ ours: z.string().optional(), theirs: z.string().optional() }).optional(),
    pair: z.object({ left: z.string(), right: z.string() }).optional(),
  }),
});
const ref = { namespace: "default", name: "a" };
const get = (c: Cluster) => c.client.kind(Thing).get(ref);
const create = (c: Cluster, value = "") => c.client.kind(Thing).create({ metadata: ref, spec: { value } });
const change = (c: Cluster, value: string) =>
  c.client.kind(Thing).patch(ref, { type: "merge", body: { spec: { value } } });
const ready = async (c: Cluster) => findCondition((await get(c)).status?.conditions, "Ready");

describe("the status", () => {
  test("of a reconcile that throws keeps what the author said before, and nobody else's part is touched", async () => {
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        if (object.spec.value === "bad") throw new Error("no route to host");
        ctx.setStatus({ seen: object.spec.value, nested: { ours: "1" } });
        ctx.setCondition({ type: "Backup", status: "True", reason: "Taken", message: "yesterday" });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c, "good");
    await c.converges();
    const agent = (value: string) =>
      c.client
        .kind(Thing)
        .subresource("status")
        .apply({ metadata: ref, status: { agent: value, nested: { theirs: value } } } as never, {
          fieldManager: "agent",
        });
    await agent("one");
    await c.converges();
    // A new manager remembers nothing, and meets the error first.
    c.crash();
    await change(c, "bad");
    await c.advance(5_000);
    expect((await get(c)).status).toMatchObject({
      seen: "good",
      agent: "one",
      nested: { ours: "1", theirs: "one" },
    });
    expect(await ready(c)).toMatchObject({
      status: "False",
      message: "no route to host",
      observedGeneration: 2,
    });
    expect(findCondition((await get(c)).status?.conditions, "Backup")?.status).toBe("True");
    await agent("two");
    await c.advance(60_000);
    expect((await get(c)).status).toMatchObject({ agent: "two", nested: { ours: "1", theirs: "two" } });
    await change(c, "good again");
    await c.converges();
    expect((await get(c)).status).toMatchObject({
      seen: "good again",
      agent: "two",
      nested: { theirs: "two" },
    });
  });

  test("speaks of the generation that was acted on, not of one that came meanwhile", async () => {
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        const takesMs = object.spec.value === "two" ? 60_000 : 1_000;
        await new Promise<void>((resolve) => ctx.clock.timer(takesMs, resolve));
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c, "one");
    await c.advance(500);
    await change(c, "two");
    await c.advance(2_000);
    const { metadata, status } = await get(c);
    expect(metadata.generation).toBe(2);
    expect(status).toMatchObject({ observedGeneration: 1 });
    expect(await ready(c)).toMatchObject({ status: "True", observedGeneration: 1 });
    await c.advance(120_000);
    expect((await get(c)).status).toMatchObject({ observedGeneration: 2 });
  });

  test("drops what the author no longer says", async () => {
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        ctx.setStatus(object.spec.value ? { seen: object.spec.value } : {});
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c, "x");
    await c.converges();
    await change(c, "");
    await c.converges();
    expect((await get(c)).status).not.toHaveProperty("seen");
  });

  test("moves lastTransitionTime only with the condition's status", async () => {
    const thing = controller(Thing, {
      async reconcile(object) {
        return object.spec.value === "done" ? done() : waiting("Waiting", object.spec.value);
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c, "one");
    await c.advance(60_000);
    const first = await ready(c);
    await change(c, "two");
    await c.advance(60_000);
    expect(await ready(c)).toMatchObject({ message: "two", lastTransitionTime: first?.lastTransitionTime });
    await change(c, "done");
    await c.advance(60_000);
    expect((await ready(c))?.lastTransitionTime).toBe("2026-01-01T00:02:00Z");
  });

  test("that someone else spoiled is put back", async () => {
    const thing = controller(Thing, {
      async reconcile(_object, ctx) {
        ctx.setStatus({ seen: "truth" });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.converges();
    await c.client
      .kind(Thing)
      .subresource("status")
      .patch(ref, { type: "merge", body: { status: { seen: "lie", conditions: [] } } });
    await c.converges();
    expect((await get(c)).status?.seen).toBe("truth");
  });

  test("loses what someone else wrote and the author does not say, also where half of it is invalid", async () => {
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        const { value } = object.spec;
        ctx.setStatus(value === "" ? { seen: "x" } : { seen: "x", pair: { left: value, right: "same" } });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c, "one");
    await c.converges();
    const write = (status: object) =>
      c.client
        .kind(Thing)
        .subresource("status")
        .patch(ref, { type: "merge", body: { status } as never });
    await c.client
      .kind(Thing)
      .subresource("status")
      .apply({ metadata: ref, status: { nested: { theirs: "kept" } } } as never, { fieldManager: "agent" });
    // Nothing else has changed.
    await write({ agent: "a person", nested: { ours: "a person" } });
    await c.converges();
    expect((await get(c)).status).not.toHaveProperty("agent");
    expect((await get(c)).status?.nested).toEqual({ theirs: "kept" });
    // A person owns one half when the next manager starts, and the author wants neither.
    c.crash();
    await write({ pair: { left: "two" } });
    await change(c, "");
    await c.converges();
    expect((await get(c)).status).not.toHaveProperty("pair");
    expect((await get(c)).status).toMatchObject({ seen: "x", nested: { theirs: "kept" } });
    expect(await ready(c)).toMatchObject({ status: "True" });
  });

  test("with another message at every failure does not turn the backoff into a hot loop", async () => {
    let runs = 0;
    const thing = controller(Thing, {
      async reconcile() {
        throw new Error(`failure number ${++runs}`);
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.advance(60_000);
    expect(runs).toBeGreaterThan(8);
    expect(runs).toBeLessThan(20);
    const { items } = await c.client.kind(Event).list({ namespace: "default" });
    expect(items.length).toBeLessThanOrEqual(25);
  });

  test("says nothing of an error that passes, and all of one that stays", async () => {
    const thing = controller(Thing, { reconcile: async () => done() });
    await using c = await cluster({ controllers: [thing] });
    c.faults.inject({ on: ({ write }) => write, fault: serverError(), times: 2 });
    await create(c);
    await c.converges();
    expect(c.writes.every(({ body }) => !body?.includes("InternalError"))).toBe(true);
  });

  test("after fail() is not looked at again until something changes", async () => {
    let runs = 0;
    const thing = controller(Thing, {
      async reconcile(object) {
        runs++;
        return object.spec.value === "good" ? done() : fail("Downgrade", "cannot go back");
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.advance(3_600_000);
    expect(runs).toBe(2);
    await change(c, "good");
    await c.converges();
  });

  test("of an object that was replaced by another of its name is not written", async () => {
    const gate = Promise.withResolvers<void>();
    let first = true;
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        if (first) {
          first = false;
          await gate.promise;
        }
        ctx.setStatus({ seen: object.metadata.uid });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.settle();
    c.faults.hold("things");
    await c.client.kind(Thing).delete(ref);
    const second = await create(c);
    gate.resolve();
    await c.advance(1_000);
    expect((await get(c)).status?.seen).toBeUndefined();
    c.faults.clear();
    await c.converges();
    expect((await get(c)).status?.seen).toBe(second.metadata.uid);
  });
});

describe("the inventory", () => {
  test("keeps and reports children of a slot that this release does not know", async () => {
    const old = controller(Thing, { owns: { gone: ConfigMap }, compose: () => ({ children: { gone: {} } }) });
    const current = controller(Thing, {
      owns: { secret: Secret },
      compose: () => ({ children: { secret: {} } }),
    });
    await using c = await cluster({ controllers: [old] });
    await create(c);
    await c.converges();
    const { status } = await get(c);
    await using next = await cluster({ controllers: [current] });
    await create(next);
    await next.client
      .kind(Thing)
      .subresource("status")
      .patch(ref, {
        type: "merge",
        body: { status: { inventory: status?.inventory as never } },
      });
    next.crash();
    await next.converges();
    expect((await get(next)).status?.inventory?.map(({ slot }) => slot)).toEqual(["secret", "gone"]);
    const { items } = await next.client.kind(Event).list({ namespace: "default" });
    const told = items.filter(({ reason }) => reason === "LeftBehind").map(({ message }) => message);
    // Each life of the manager tells it once.
    expect(new Set(told)).toEqual(
      new Set([
        'ConfigMap a was made by a release that had the slot "gone"; declare gone: retired(ConfigMap) to have it deleted, or delete it yourself',
      ]),
    );
  });

  test("keeps a child whose owner label was changed while a reconcile was under way", async () => {
    const slow = controller(Thing, {
      owns: { secret: own(Secret, { outlives: true }) },
      async reconcile(_thing, ctx) {
        await ctx.own.secret.apply({});
        await new Promise<void>((resolve) => ctx.clock.timer(10_000, resolve));
        return done();
      },
    });
    await using c = await cluster({ controllers: [slow] });
    await create(c);
    await c.converges();
    const [before] = (await get(c)).status?.inventory ?? [];
    await change(c, "again");
    await c.advance(5_000);
    await c.client
      .kind(Secret)
      .patch(ref, { type: "merge", body: { metadata: { labels: { "keelson.dev/owner": "other" } } } });
    // The reconcile under way ends, and says what it made true.
    await c.advance(6_000);
    expect((await get(c)).status?.inventory).toEqual([before]);
    await c.converges();
    expect(await ready(c)).toMatchObject({ status: "True" });
    expect((await c.client.kind(Secret).get(ref)).metadata).toMatchObject({
      uid: before?.uid,
      labels: { "keelson.dev/owner": "a" },
    });
  });

  test("keeps the key of a child whose label was changed while a reconcile was under way", async () => {
    const slow = controller(Thing, {
      owns: { secrets: many(Secret) },
      async reconcile(_thing, ctx) {
        await ctx.own.secrets.apply("one", { metadata: { name: "a" } });
        await new Promise<void>((resolve) => ctx.clock.timer(10_000, resolve));
        return done();
      },
    });
    await using c = await cluster({ controllers: [slow] });
    const relabel = async () =>
      await c.client
        .kind(Secret)
        .patch(ref, { type: "merge", body: { metadata: { labels: { "keelson.dev/key": "other" } } } });
    await create(c);
    await c.advance(5_000);
    // It was made a moment ago, and no inventory has it yet.
    await relabel();
    await c.advance(6_000);
    const [before] = (await get(c)).status?.inventory ?? [];
    expect(before).toMatchObject({ slot: "secrets", key: "one", name: "a" });
    await c.converges();
    await change(c, "again");
    await c.advance(5_000);
    await relabel();
    await c.advance(6_000);
    expect((await get(c)).status?.inventory).toEqual([before]);
    await c.converges();
    expect((await c.client.kind(Secret).get(ref)).metadata).toMatchObject({
      uid: before?.uid,
      labels: { "keelson.dev/key": "one" },
    });
  });

  test("forgets at once what the reconcile deleted, and at the next one what others deleted", async () => {
    const pair = controller(Thing, {
      owns: { secret: Secret, config: ConfigMap },
      async reconcile({ spec }, ctx) {
        await ctx.own.secret.apply({});
        if (spec.value === "two") await ctx.own.config.apply({});
        if (spec.value === "one") await ctx.own.config.delete();
        return done();
      },
    });
    await using c = await cluster({ controllers: [pair] });
    const slots = async () => (await get(c)).status?.inventory?.map(({ slot }) => slot);
    await create(c, "two");
    await c.converges();
    expect(await slots()).toEqual(["secret", "config"]);
    await change(c, "one");
    await c.converges();
    expect(await slots()).toEqual(["secret"]);
    await change(c, "two");
    await c.converges();
    await change(c, "three");
    await c.converges();
    await c.client.kind(ConfigMap).delete(ref);
    await c.converges();
    expect(await slots()).toEqual(["secret"]);
  });
});

describe("steps", () => {
  test("are run at least once, with one key for all attempts, wherever the manager dies", {
    timeout: 180_000,
  }, async () => {
    const effects: { step: string; key: string; resumed: boolean }[] = [];
    const thing = controller(Thing, {
      async reconcile(object, ctx) {
        if (object.status?.seen === object.spec.value) return done();
        const order: number[] = [];
        for (const step of ["one", "two", "three"]) {
          order.push(
            await ctx.step(`${object.spec.value}/${step}`, async ({ idempotencyKey, resumed }) => {
              effects.push({ step: `${object.spec.value}/${step}`, key: idempotencyKey, resumed });
              return effects.length;
            }),
          );
        }
        expect([...order].sort((a, b) => a - b)).toEqual(order);
        ctx.setStatus({ seen: object.spec.value });
        return done();
      },
    });
    const { runs } = await everyCrash({ controllers: [thing] }, async (c) => {
      effects.length = 0;
      await create(c, "first");
      await c.converges();
      await change(c, "second");
      await c.converges();
      const { status } = await get(c);
      expect(status?.seen).toBe("second");
      expect(status?.steps).toBeUndefined();
      const byStep = Map.groupBy(effects, ({ step }) => step);
      expect([...byStep.keys()]).toEqual([
        "first/one",
        "first/two",
        "first/three",
        "second/one",
        "second/two",
        "second/three",
      ]);
      for (const attempts of byStep.values()) {
        expect(new Set(attempts.map(({ key }) => key)).size).toBe(1);
        // Every attempt but the first is told that one came before; the first is too when its intent was stored.
        expect(attempts.slice(1).every(({ resumed }) => resumed)).toBe(true);
        expect(attempts.length).toBeLessThanOrEqual(2);
      }
      expect(new Set(effects.map(({ key }) => key)).size).toBe(6);
    });
    expect(runs).toBeGreaterThan(25);
  });

  test("of which the intent cannot be stored are not run", async () => {
    let ran = 0;
    const thing = controller(Thing, {
      async reconcile(_object, ctx) {
        await ctx.step("promote", async () => {
          ran++;
        });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    c.faults.inject({ on: ({ write }) => write, fault: serverError(), times: 3 });
    await create(c);
    await c.advance(8);
    expect(ran).toBe(0);
    await c.converges();
    expect(ran).toBe(1);
  });

  test("of two leaders at once are begun by one only", async () => {
    const begun: string[] = [];
    const thing = controller(Thing, {
      async reconcile(_object, ctx) {
        await ctx.step("promote", async ({ idempotencyKey, resumed }) => {
          if (!resumed) begun.push(idempotencyKey);
        });
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing], managers: 2, leaderElection: false });
    await create(c);
    await c.converges();
    expect(begun).toHaveLength(1);
  });

  test("that return too much are refused with advice", async () => {
    const thing = controller(Thing, {
      async reconcile(_object, ctx) {
        await ctx.step("dump", async () => "x".repeat(20_000));
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.advance(1_000);
    expect((await ready(c))?.message).toContain("keep the rest in a ConfigMap or Secret");
  });
});

describe("an owner that is deleted while its reconcile runs", () => {
  test("is given no more children, and nobody is troubled", async () => {
    const warnings: string[] = [];
    const log: Logger = { ...silentLogger, warn: (message) => warnings.push(message), child: () => log };
    const thing = controller(Thing, {
      owns: { first: ConfigMap, second: Secret },
      async reconcile(_object, ctx) {
        await ctx.own.first.apply({});
        await new Promise<void>((resolve) => ctx.clock.timer(5_000, resolve));
        await ctx.own.second.apply({});
        return done();
      },
    });
    await using c = await cluster({ controllers: [thing], log });
    await create(c);
    await c.advance(1_000);
    await c.client.kind(Thing).delete(ref);
    await c.advance(60_000);
    expect(await c.client.kind(ConfigMap).find(ref)).toBeDefined();
    expect(await c.client.kind(Secret).find(ref)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("is given no new child for one that was collected with it, even while its own deletion is unseen", async () => {
    const thing = controller(Thing, {
      owns: { secret: Secret },
      compose: () => ({ children: { secret: {} } }),
    });
    await using c = await cluster({ controllers: [thing] });
    await create(c);
    await c.converges();
    c.faults.hold("things");
    await c.client.kind(Thing).delete(ref);
    await c.client.kind(Secret).delete(ref);
    await c.advance(60_000);
    expect(await c.client.kind(Secret).find(ref)).toBeUndefined();
    await create(c);
    c.faults.clear();
    await c.converges();
    const [owner] = (await c.client.kind(Secret).get(ref)).metadata.ownerReferences ?? [];
    expect(owner?.uid).toBe((await get(c)).metadata.uid);
  });
});
