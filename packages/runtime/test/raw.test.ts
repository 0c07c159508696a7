/** Raw controllers: kinds that a reconcile learns of, and applies that send nothing. */
import { ConfigMap, Pod, Secret } from "@keelson/core/kinds";
import { allow } from "@keelson/runtime";
import { rawController, watch } from "@keelson/runtime/internal";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";

const here = (name: string) => ({ namespace: "default", name });

test("a reconcile follows a kind that it learns of, and is called when that changes", async () => {
  const seen: string[] = [];
  const learning = rawController({
    name: "learning",
    watches: { maps: watch(ConfigMap) },
    writes: [allow(Secret, ["list", "watch"])],
    reconcile: async (key, ctx) => {
      const kind = await ctx.server.discover("v1", "secrets");
      const secrets = await ctx.follow("learned", kind, { keys: () => ["default/a"] });
      if (key === "default/a") seen.push(`${key} ${secrets.size}`);
    },
  });
  await using c = await cluster({ controllers: [learning] });
  await c.client.kind(ConfigMap).create({ metadata: here("a") });
  await c.settle();
  expect(seen).toEqual(["default/a 0"]);
  await c.client.kind(Secret).create({ metadata: here("one") });
  await c.settle();
  expect(seen.at(-1)).toBe("default/a 1");
});

test("an apply sends nothing for what is there, and puts back what others changed", async () => {
  const applying = rawController({
    name: "applying",
    watches: { pods: watch(Pod), maps: watch(ConfigMap, { applies: true, keys: () => ["default/p"] }) },
    writes: [allow(ConfigMap, ["create", "patch"])],
    reconcile: async (_key, ctx) => {
      const metadata = here("made");
      await ctx.apply("maps", { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } });
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "2" } };
      expect(await ctx.wouldChange("maps", body)).toBe(true);
      expect(await ctx.wouldChange("maps", { ...body, data: { a: "1" } })).toBe(false);
    },
  });
  await using c = await cluster({ controllers: [applying] });
  const pod = { metadata: here("p"), spec: { containers: [{ name: "c", image: "i" }] } };
  await c.client.kind(Pod).create(pod);
  await c.converges();
  expect(c.writes.length).toBe(1);
  await c.client
    .kind(ConfigMap)
    .patch(here("made"), { type: "merge", body: { data: { a: "9", b: "theirs" } } });
  await c.converges();
  expect((await c.client.kind(ConfigMap).get(here("made"))).data).toEqual({ a: "1", b: "theirs" });
});

test("a reconcile that asks to come back comes back at the soonest of its wishes, and at once for one in the past", async () => {
  const runs: number[] = [];
  const eager = rawController({
    name: "eager",
    watches: { maps: watch(ConfigMap) },
    reconcile: async (key, ctx) => {
      if (key !== "default/a") return;
      runs.push(ctx.clock.monotonic());
      for (const afterMs of [[60_000, 5_000], [-1], []][runs.length - 1] ?? []) ctx.recheck(afterMs);
    },
  });
  await using c = await cluster({ controllers: [eager] });
  await c.client.kind(ConfigMap).create({ metadata: here("a") });
  await c.advance(120_000);
  const [first = 0, ...later] = runs;
  expect(later.map((at) => at - first)).toEqual([5_000, 5_000]);
});
