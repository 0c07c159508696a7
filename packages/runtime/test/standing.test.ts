/** Whose a child is, by its controller and by its labels. */
import type { Client } from "@keelson/client";
import { ConfigMap, Namespace, Secret } from "@keelson/core/kinds";
import { controller, done, type Logger, own, silentLogger } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const ref = { namespace: "default", name: "a" };
const labels = { parent: "yes" };

/** What is heard of an owner `name` whose child has these marks and that name already. */
async function heard(marks: object, { outlives = false, name = "a" } = {}) {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_, fields) => void lines.push(String(fields?.["error"])),
    child: () => log,
  };
  const one = controller(Secret, {
    name: "site",
    labels: "parent=yes",
    owns: { settings: own(ConfigMap, { outlives }) },
    async reconcile(_object, ctx) {
      await ctx.own.settings.apply({ data: { by: "us" } });
      return done();
    },
    finalize: async () => done(),
  });
  await using c = await cluster({ controllers: [one], log });
  const at = { namespace: "default", name };
  await c.client.kind(ConfigMap).create({ metadata: { ...at, ...marks }, data: { by: "them" } });
  await c.client.kind(Secret).create({ metadata: { ...at, labels } });
  await c.advance(5_000);
  return { line: lines[0], by: (await c.client.kind(ConfigMap).get(at)).data?.["by"] };
}

const reference = (kind: string, name: string, apiVersion = "v1") => ({
  ownerReferences: [{ apiVersion, kind, name, uid: "other", controller: true }],
});
const marked = (more: object) => ({
  labels: { "keelson.dev/controller": "site", "keelson.dev/slot": "settings", ...more },
});

describe("a child that is there already", () => {
  test("of an earlier owner of the same kind and name is waited for", async () => {
    const { line, by } = await heard(reference("Secret", "a"));
    expect(line).toContain("the one of an earlier Secret a is still there");
    expect(by).toBe("them");
  });

  test.each([
    ["another kind", reference("Service", "a")],
    ["another name", reference("Secret", "b")],
    ["another group", reference("Secret", "a", "other.example.com/v1")],
  ])("of an owner of %s is not ours", async (_, marks) => {
    const { line, by } = await heard(marks);
    expect(line).toContain("it exists and is controlled by");
    expect(by).toBe("them");
  });

  test("that outlives its owner is taken over by one of its name, and by no other", async () => {
    expect(await heard(marked({ "keelson.dev/owner": "a" }), { outlives: true })).toEqual({
      line: undefined,
      by: "us",
    });
    const { line, by } = await heard(marked({ "keelson.dev/owner": "b" }), { outlives: true });
    expect(line).toContain("it exists and no controller made it");
    expect(by).toBe("them");
    const elsewhere = marked({ "keelson.dev/owner": "a", "keelson.dev/owner-namespace": "elsewhere" });
    expect((await heard(elsewhere, { outlives: true })).by).toBe("them");
  });
});

test("a child of the cluster belongs to the owner that it names, also as earlier releases named it", async () => {
  const taken = async (more: object) => {
    const one = controller(Secret, {
      name: "site",
      labels: "parent=yes",
      owns: { home: own(Namespace, { outlives: true, name: () => "home" }) },
      async reconcile(_object, ctx) {
        await ctx.own.home.apply({ metadata: { annotations: { by: "us" } } });
        return done();
      },
      finalize: async () => done(),
    });
    await using c = await cluster({ controllers: [one], log: silentLogger });
    const own_ = { "keelson.dev/controller": "site", "keelson.dev/slot": "home", "keelson.dev/owner": "a" };
    await c.client.kind(Namespace).create({ metadata: { name: "home", labels: { ...own_, ...more } } });
    await c.client.kind(Secret).create({ metadata: { ...ref, labels } });
    await c.advance(5_000);
    return (await c.client.kind(Namespace).get({ name: "home" })).metadata.annotations?.["by"] === "us";
  };
  expect(await taken({ "keelson.dev/owner-namespace": "default" })).toBe(true);
  expect(await taken({})).toBe(true);
  expect(await taken({ "keelson.dev/owner-namespace": "elsewhere" })).toBe(false);
});

test("a child that loses its marks while its owner is reconciled is still known by the inventory", async () => {
  const Thing = resource({
    group: "test.example.com",
    kind: "Thing",
    version: "v1",
    spec: z.object({ n: z.int() }),
  });
  const strip: { of?: Client } = {};
  const found: (string | undefined)[] = [];
  const one = controller(Thing, {
    owns: { settings: ConfigMap },
    async reconcile({ spec: { n } }, ctx) {
      await ctx.own.settings.apply({ data: {} });
      if (n === 2 && found.length === 0) {
        const metadata = { labels: null, ownerReferences: null };
        await strip.of?.kind(ConfigMap).patch(ref, { type: "merge", body: { metadata } as never });
        found.push((await ctx.own.settings.live())?.metadata.name);
      }
      return done();
    },
  });
  await using c = await cluster({ controllers: [one] });
  strip.of = c.client;
  await c.client.kind(Thing).create({ metadata: ref, spec: { n: 1 } });
  await c.converges();
  await c.client.kind(Thing).patch(ref, { type: "merge", body: { spec: { n: 2 } } });
  await c.converges();
  expect(found).toEqual(["a"]);
});

test("a child whose owner's name is too long for a label still calls its owner", async () => {
  const name = `long-${"x".repeat(80)}`;
  const one = controller(Secret, {
    labels: "parent=yes",
    owns: { settings: own(ConfigMap, { outlives: true, name: () => "settings" }) },
    async reconcile(_object, ctx) {
      await ctx.own.settings.apply({ data: { a: "1" } });
      return done();
    },
    finalize: async () => done(),
  });
  await using c = await cluster({ controllers: [one] });
  await c.client.kind(Secret).create({ metadata: { namespace: "default", name, labels } });
  await c.converges();
  const settings = { ...ref, name: "settings" };
  await c.client.kind(ConfigMap).patch(settings, { type: "merge", body: { data: { a: "2" } } });
  await c.advance(1_000);
  expect((await c.client.kind(ConfigMap).get(settings)).data).toEqual({ a: "1" });
});

test("an event of a reconcile that is over is not made", async () => {
  let late: () => void = () => {};
  const one = controller(Secret, {
    labels: "parent=yes",
    async reconcile(_object, ctx) {
      late = () => ctx.event("Normal", "Late", "it is over");
      return done();
    },
  });
  await using c = await cluster({ controllers: [one] });
  await c.client.kind(Secret).create({ metadata: { ...ref, labels } });
  await c.converges();
  expect(late).not.toThrow();
  const endless = controller(Secret, {
    labels: "parent=yes",
    timeoutMs: 1_000,
    async reconcile(_object, ctx) {
      late = () => ctx.event("Normal", "Late", "it is over");
      return await new Promise<never>(() => {});
    },
  });
  await using d = await cluster({ controllers: [endless] });
  await d.client.kind(Secret).create({ metadata: { ...ref, labels } });
  await d.settle();
  const first = late;
  await d.advance(2_000);
  expect(first).toThrow("this reconcile is over and can do nothing more");
});
