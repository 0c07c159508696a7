/** What a raw controller is told: by its applies, and by its log when a reconcile takes too long. */
import { ConfigMap, Pod } from "@keelson/core/kinds";
import { allow, type Logger, silentLogger } from "@keelson/runtime";
import { rawController, watch } from "@keelson/runtime/internal";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";

const here = (name: string) => ({ namespace: "default", name });
const pod = { metadata: here("p"), spec: { containers: [{ name: "c", image: "i" }] } };

test("an apply gives the object as it is, also when nothing has to be sent", async () => {
  const versions: (string | undefined)[] = [];
  const applying = rawController({
    name: "applying",
    watches: { pods: watch(Pod), maps: watch(ConfigMap, { applies: true, keys: () => ["default/p"] }) },
    writes: [allow(ConfigMap, ["create", "patch"])],
    reconcile: async (_key, ctx) => {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: here("made"), data: { a: "1" } };
      versions.push((await ctx.apply("maps", body)).metadata.resourceVersion);
    },
  });
  await using c = await cluster({ controllers: [applying] });
  await c.client.kind(Pod).create(pod);
  await c.converges();
  const body = { metadata: { labels: { changed: "yes" } } };
  await c.client.kind(Pod).patch(here("p"), { type: "merge", body });
  await c.settle();
  expect(c.writes).toHaveLength(1);
  const { resourceVersion } = (await c.client.kind(ConfigMap).get(here("made"))).metadata;
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([resourceVersion]));
});

test("a reconcile that does not end is given up by name, key and time", async () => {
  const errors: unknown[] = [];
  const logged = (_: string, { error }: Readonly<Record<string, unknown>> = {}) => void errors.push(error);
  const log: Logger = { ...silentLogger, warn: logged, error: logged, child: () => log };
  const endless = rawController({
    name: "endless",
    watches: { pods: watch(Pod) },
    timeoutMs: 5_000,
    reconcile: async () => await new Promise<void>(() => {}),
  });
  await using c = await cluster({ controllers: [endless], log });
  await c.client.kind(Pod).create(pod);
  await c.advance(6_000);
  expect(errors.map(String)).toContainEqual(
    expect.stringContaining('controller "endless" (Pod) did not end with default/p within 5 s'),
  );
});
