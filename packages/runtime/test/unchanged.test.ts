/** A look at an object that finds nothing to do, and what must not be taken for one. */
import { ConfigMap } from "@keelson/core/kinds";
import { controller, done } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Site = resource({
  group: "unchanged.example.com",
  kind: "Site",
  version: "v1",
  spec: z.object({ pages: z.int() }),
  status: z.object({ pages: z.array(z.int()).optional() }),
});
const ref = { namespace: "default", name: "a" };

test("what an author changes in place is seen, and what others change is put back", async () => {
  // One object for all runs, as a careless author might have it.
  const shared = {
    child: { data: { pages: "0" } },
    status: { pages: [0] },
    condition: { type: "Indexed", status: "True" as "True" | "False", reason: "Indexed", message: "" },
  };
  let runs = 0;
  const site = controller(Site, {
    owns: { config: ConfigMap },
    resyncMs: 60_000,
    async reconcile({ spec }, ctx) {
      runs++;
      shared.child.data.pages = String(spec.pages);
      shared.status.pages[0] = spec.pages;
      shared.condition.status = spec.pages > 1 ? "False" : "True";
      await ctx.own.config.apply(shared.child);
      ctx.setStatus(shared.status);
      ctx.setCondition(shared.condition);
      return done();
    },
  });
  await using c = await cluster({ controllers: [site] });
  await c.client.kind(Site).create({ metadata: ref, spec: { pages: 1 } });
  const expectPages = async (pages: number) => {
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ pages: String(pages) });
    const { status } = await c.client.kind(Site).get(ref);
    expect(status?.pages).toEqual([pages]);
    const indexed = status?.conditions?.find(({ type }) => type === "Indexed");
    expect(indexed?.status).toBe(pages > 1 ? "False" : "True");
  };
  await expectPages(1);

  const [before, written] = [runs, c.writes.length];
  await c.advance(200_000);
  expect(runs).toBeGreaterThanOrEqual(before + 3);
  expect(c.writes.length).toBe(written);

  await c.client.kind(Site).patch(ref, { type: "merge", body: { spec: { pages: 2 } } });
  await expectPages(2);
  await c.client.kind(ConfigMap).patch(ref, { type: "merge", body: { data: { pages: "7" } } });
  await expectPages(2);
  const status = { pages: [7] };
  await c.client.kind(Site).subresource("status").patch(ref, { type: "merge", body: { status } });
  await expectPages(2);
  await c.client.kind(ConfigMap).delete(ref);
  await expectPages(2);
});

test("a condition that changes while everything else stays the same is written", async () => {
  let status: "True" | "False" = "True";
  const site = controller(Site, {
    resyncMs: 60_000,
    async reconcile(_object, ctx) {
      ctx.setCondition({ type: "Reachable", status, reason: "Asked", message: "" });
      return done();
    },
  });
  await using c = await cluster({ controllers: [site] });
  await c.client.kind(Site).create({ metadata: ref, spec: { pages: 1 } });
  await c.converges();
  await c.advance(130_000); // looks that find nothing to write
  status = "False";
  await c.advance(130_000);
  const conditions = (await c.client.kind(Site).get(ref)).status?.conditions;
  expect(conditions?.find(({ type }) => type === "Reachable")?.status).toBe("False");
});

test("events of a run's own writes come behind objects that nobody has looked at yet, and are one look", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `site-${index}`);
  await using before = await cluster({ resources: [Site] });
  for (const name of names) {
    await before.client.kind(Site).create({ metadata: { ...ref, name }, spec: { pages: 1 } });
  }
  const looks: string[] = [];
  const site = controller(Site, {
    owns: { config: ConfigMap },
    concurrency: 1,
    async reconcile({ metadata, spec }, ctx) {
      looks.push(metadata.name);
      await ctx.own.config.apply({ data: { pages: String(spec.pages) } });
      ctx.setStatus({ pages: [spec.pages] });
      return done();
    },
  });
  await using c = await cluster({ controllers: [site], from: before.snapshot() });
  await c.converges();
  expect(looks.slice(0, names.length).sort()).toEqual(names);
  // Of the child and of the status; what follows are looks that the test itself asks for.
  expect(looks.slice(names.length, 2 * names.length).sort()).toEqual(names);
});
