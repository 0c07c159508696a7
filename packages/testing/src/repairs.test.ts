/** What people do to children behind an operator's back, and what an operator may do while it does not lead. */
import { ConfigMap, Pod } from "@keelson/core/kinds";
import { controller, done, many, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Cluster, cluster } from "./cluster.ts";

const Box = resource({
  group: "example.com",
  kind: "Box",
  version: "v1",
  spec: z.object({ labels: z.record(z.string(), z.string()).default({}) }),
  status: z.object({
    seen: z.array(z.string()).optional(),
    copy: z.object({ labels: z.record(z.string(), z.string()) }).optional(),
  }),
});

const ref = { namespace: "default", name: "box" };
/** What was done outside of Kubernetes, and by whom. */
const calls: string[] = [];
let between: () => Promise<void> = async () => {};

/** Its parts are made once and never applied again, as pods of a database are. */
const boxes = controller(Box, {
  owns: { parts: many(ConfigMap, { outlives: true }), front: ConfigMap, pods: many(Pod) },
  async reconcile(box, ctx) {
    await ctx.own.front.apply({ metadata: { name: `${box.metadata.name}-front` }, data: { a: "b" } });
    const parts = ctx.own.parts.entries();
    ctx.setStatus({ seen: [...parts.keys()], copy: { labels: box.spec.labels } });
    if (parts.size === 0 && !box.status?.seen) {
      await ctx.own.parts.apply("0", { data: { precious: "yes" } });
      return waiting("Making", "the part is made", { recheckMs: 100 });
    }
    await between();
    ctx.assertLeading();
    calls.push("changed");
    return done({ recheckMs: 10_000 });
  },
  async finalize(_box, ctx) {
    if (ctx.orphaned) return done();
    for (const key of ctx.own.parts.entries().keys()) await ctx.own.parts.delete(key);
    return done();
  },
});

async function box(options: object = {}): Promise<Cluster> {
  const c = await cluster({ controllers: [boxes], ...options });
  await c.client.kind(Box).create({ metadata: ref, spec: { labels: { a: "b" } } });
  await c.advance(5_000);
  return c;
}

const foreground = "foregroundDeletion";
const part = { namespace: "default", name: "box-0" };
const seen = async (c: Cluster) => (await c.client.kind(Box).get(ref)).status?.seen;

describe("children that someone changed", () => {
  test.each(["keelson.dev/controller", "keelson.dev/slot", "keelson.dev/key", "keelson.dev/owner"])(
    "a child that lost its label %s is found, and gets it back",
    async (label) => {
      await using c = await box();
      const before = await c.client.kind(ConfigMap).get(part);
      const body = { metadata: { labels: { [label]: null } } } as never;
      await c.client.kind(ConfigMap).patch(part, { type: "merge", body });
      await c.advance(30_000);
      expect(await seen(c)).toEqual(["0"]);
      const after = await c.client.kind(ConfigMap).get(part);
      expect(after.metadata.uid).toBe(before.metadata.uid);
      expect(after.metadata.labels).toEqual(before.metadata.labels);
    },
  );

  test("a child that lost its owner gets it back", async () => {
    await using c = await box();
    const front = { namespace: "default", name: "box-front" };
    const before = await c.client.kind(ConfigMap).get(front);
    const body = { metadata: { ownerReferences: null } } as never;
    await c.client.kind(ConfigMap).patch(front, { type: "merge", body });
    await c.advance(30_000);
    const after = await c.client.kind(ConfigMap).get(front);
    expect(after.metadata.ownerReferences).toEqual(before.metadata.ownerReferences);
  });

  test("a child that lost every mark while the record of children was lost is known by who applied it", async () => {
    await using c = await box();
    const front = { namespace: "default", name: "box-front" };
    const before = await c.client.kind(ConfigMap).get(front);
    const outage = c.outage();
    c.crash();
    const labels = Object.fromEntries(Object.keys(before.metadata.labels ?? {}).map((name) => [name, null]));
    const body = { metadata: { ownerReferences: null, labels } } as never;
    await c.client.kind(ConfigMap).patch(front, { type: "merge", body });
    const status = { inventory: null, seen: null, copy: null, conditions: null, observedGeneration: null };
    await c.client
      .kind(Box)
      .subresource("status")
      .patch(ref, { type: "merge", body: { status } as never });
    outage.end();
    await c.advance(60_000);
    const after = await c.client.kind(ConfigMap).get(front);
    expect(after.metadata).toMatchObject({
      uid: before.metadata.uid,
      labels: before.metadata.labels,
      ownerReferences: before.metadata.ownerReferences,
    });
  });

  test("a child that lost its marks with the record, and cannot become what is asked for, is seen again", async () => {
    const sealed = controller(Box, {
      owns: { parts: many(ConfigMap, { outlives: true }) },
      async reconcile(box, ctx) {
        const seen = [...ctx.own.parts.entries().keys()];
        ctx.setStatus({ seen });
        if (seen.length === 0) await ctx.own.parts.apply("0", { immutable: true, data: box.spec.labels });
        return done();
      },
    });
    await using c = await cluster({ controllers: [sealed] });
    await c.client.kind(Box).create({ metadata: ref, spec: { labels: { a: "b" } } });
    await c.advance(5_000);
    const before = await c.client.kind(ConfigMap).get(part);
    const outage = c.outage();
    c.crash();
    const body = { metadata: { labels: { "keelson.dev/slot": null } } } as never;
    await c.client.kind(ConfigMap).patch(part, { type: "merge", body });
    const boxOf = c.client.kind(Box);
    await boxOf.patch(ref, { type: "merge", body: { spec: { labels: { a: "c" } } } });
    const status = { inventory: null, seen: null, conditions: null, observedGeneration: null };
    await boxOf.subresource("status").patch(ref, { type: "merge", body: { status } as never });
    outage.end();
    await c.advance(60_000);
    expect(await seen(c)).toEqual(["0"]);
    const after = await c.client.kind(ConfigMap).get(part);
    expect(after).toMatchObject({
      metadata: { uid: before.metadata.uid, labels: before.metadata.labels },
      data: { a: "b" },
    });
    const { status: now } = await boxOf.get(ref);
    expect(now?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });

  test("children of an owner that was deleted with --cascade=orphan stay, and are adopted again", async () => {
    await using c = await box({ workloads: true });
    const before = await c.client.kind(ConfigMap).get({ namespace: "default", name: "box-front" });
    await c.client.kind(Box).delete(ref, { propagation: "Orphan" });
    await c.until(async () => (await c.client.kind(Box).find(ref)) === undefined);
    expect(await c.client.kind(ConfigMap).find(part)).toBeDefined();
    await c.client.kind(Box).create({ metadata: ref, spec: {} });
    await c.advance(10_000);
    const made = await c.client.kind(Box).get(ref);
    const after = await c.client.kind(ConfigMap).get({ namespace: "default", name: "box-front" });
    expect(made.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.metadata.ownerReferences?.[0]?.uid).toBe(made.metadata.uid);
    expect(made.status?.seen).toEqual(["0"]);
  });

  test("an operator that has not heard of an orphaning deletion, and dies, leaves the children all the same", async () => {
    await using c = await box({ workloads: true });
    const front = { namespace: "default", name: "box-front" };
    c.faults.hold("boxes");
    await c.client.kind(Box).delete(ref, { propagation: "Orphan" });
    await c.until(async () => !(await c.client.kind(Box).get(ref)).metadata.finalizers?.includes("orphan"));
    await c.advance(20_000);
    expect((await c.client.kind(ConfigMap).get(front)).metadata.ownerReferences ?? []).toEqual([]);
    c.crash();
    c.faults.release("boxes");
    await c.until(async () => (await c.client.kind(Box).find(ref)) === undefined);
    expect(await c.client.kind(ConfigMap).find(part)).toBeDefined();
    expect(await c.client.kind(ConfigMap).find(front)).toBeDefined();
  });

  test("a child that has just lost its owner does not make a deletion in the foreground leave the others", async () => {
    await using c = await box({ workloads: true });
    // It happens during a reconcile, so that nobody can put the owner back in time.
    between = async () => {
      between = async () => {};
      const body = { metadata: { ownerReferences: null } } as never;
      const front = { namespace: "default", name: "box-front" };
      await c.client.kind(ConfigMap).patch(front, { type: "merge", body });
      await c.client.kind(Box).delete(ref, { propagation: "Foreground" });
      await c.until(
        async () => !(await c.client.kind(Box).get(ref)).metadata.finalizers?.includes(foreground),
      );
    };
    await c.until(async () => (await c.client.kind(Box).find(ref)) === undefined);
    expect(await c.client.kind(ConfigMap).find(part)).toBeUndefined();
  });
});

describe("the status", () => {
  test("may have a map that becomes empty", async () => {
    await using c = await box();
    expect((await c.client.kind(Box).get(ref)).status?.copy).toEqual({ labels: { a: "b" } });
    await c.client.kind(Box).patch(ref, { type: "merge", body: { spec: { labels: { a: null } } } as never });
    await c.advance(30_000);
    const { status } = await c.client.kind(Box).get(ref);
    expect(status?.copy?.labels ?? {}).toEqual({});
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });
});

describe("calls to an application", () => {
  test("a process that was stopped until its lease was lost sends nothing when it goes on", async () => {
    await using c = await box({ managers: 2 });
    const leader = c.managers.find(({ running }) => running?.leading);
    let stopped: PromiseWithResolvers<void> | undefined;
    between = async () => {
      if (stopped || leader?.paused) return;
      stopped = Promise.withResolvers<void>();
      leader?.pause();
      await stopped.promise;
    };
    calls.length = 0;
    await c.client.kind(Box).patch(ref, { type: "merge", body: { spec: { labels: { x: "y" } } } });
    await c.advance(60_000);
    between = async () => {};
    calls.length = 0;
    // It goes on before any timer tells it that the lease is lost: only the clock knows.
    stopped?.resolve();
    await c.settle();
    expect(calls).toEqual([]);
    leader?.resume();
    await c.settle();
    expect(calls).toEqual([]);
  });
});
