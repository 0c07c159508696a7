/** Hooks, records and definitions that go wrong while children are there: none of them is lost. */
import type { JsonObject } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { roleFor } from "@keelson/runtime";
import { type Cluster, cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { CompositeController, ControllerRevision, DecoratorController, hookHosts } from "../src/index.ts";
import { type Asked, type HookServer, hookServer } from "./hook-server.ts";
import { composite, controllersFor, map, Thing } from "./things.ts";

const here = (name: string) => ({ namespace: "default", name });
const selector = { matchLabels: { thing: "one" } };
const textOf = ({ body }: Asked) => (body["parent"] as { spec: { text?: string } }).spec.text ?? "";

async function world(server: HookServer, spec: JsonObject = {}): Promise<Cluster> {
  return await cluster({
    controllers: await controllersFor(server, composite(server, spec)),
    resources: [Thing, ControllerRevision],
    busy: server.busy,
  });
}

async function thing(c: Cluster, spec: JsonObject = {}): Promise<void> {
  await c.client.kind(Thing).create(Thing.object({ metadata: here("one"), spec: { selector, ...spec } }));
}

const patch = async (c: Cluster, text: string) =>
  await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text } } });

/** The texts of a, b and c, each time that one changes. */
function texts(c: Cluster): string[] {
  const seen: string[] = [];
  c.stored.subscribe("configmaps", () => {
    const now = c.stored
      .list("configmaps", "default")
      .filter(({ metadata }) => metadata.labels?.["thing"] === "one")
      .map(({ data }) => (data as { t: string }).t)
      .join("");
    if (seen.at(-1) !== now) seen.push(now);
  });
  return seen;
}

/** No child ever says that it is ready: the second waits for the first. */
const updateStrategy = { method: "RollingInPlace", statusChecks: { conditions: [{ type: "Ready" }] } };
const rolling: JsonObject = {
  childResources: [{ apiVersion: "v1", resource: "configmaps", updateStrategy }],
};

test("an answer that is none of a hook's leaves the children as they are", async () => {
  let answer: object = { children: [map("a", { t: "1" })] };
  await using server = await hookServer({ "/sync": () => answer });
  await using c = await world(server);
  await thing(c);
  await c.converges();
  // A proxy that says with 200 that it reaches nobody.
  answer = { error: "no upstream" };
  await patch(c, "2");
  await c.advance(60_000);
  expect(await c.client.kind(ConfigMap).find(here("a"))).toBeDefined();
});

test("a change is rolled out one by one though the record of revisions was lost", async () => {
  await using server = await hookServer({
    "/sync": (asked) => ({ children: ["a", "b", "c"].map((each) => map(each, { t: textOf(asked) })) }),
  });
  await using c = await world(server, rolling);
  await thing(c, { text: "1" });
  await c.converges();
  const seen = texts(c);
  c.crash();
  for (const { metadata } of (await c.client.kind(ControllerRevision).list()).items) {
    await c.client.kind(ControllerRevision).delete(metadata);
  }
  await patch(c, "2");
  await c.advance(60_000);
  expect(seen).toEqual(["211"]);
});

test("an ETag that follows the generation does not mix the answers of two revisions", async () => {
  await using server = await hookServer({
    "/sync": (asked) => {
      const { generation } = (asked.body["parent"] as unknown as { metadata: { generation: number } })
        .metadata;
      const etag = `"${generation}"`;
      if (asked.headers["if-none-match"] === etag) return { code: 304, text: "", headers: { etag } };
      const children = ["a", "b", "c"].map((each) => map(each, { t: textOf(asked) }));
      return { code: 200, text: JSON.stringify({ children }), headers: { etag } };
    },
  });
  const webhook = { url: `${server.url}/sync`, etag: { enabled: true } };
  await using c = await world(server, { ...rolling, hooks: { sync: { webhook } } });
  await thing(c, { text: "1" });
  await c.converges();
  const seen = texts(c);
  await patch(c, "2");
  await c.advance(60_000);
  expect(seen).toEqual(["211"]);
});

test("a second definition for the same parents and children is refused, and deletes nothing", async () => {
  await using server = await hookServer({
    "/sync": () => ({ children: [map("a", { t: "1" })] }),
    "/second": () => ({ children: [map("b", { t: "2" })] }),
  });
  const definition = composite(server);
  await using c = await cluster({
    controllers: hookHosts({ transport: server.transport, services: "dns" }),
    rules: roleFor(await controllersFor(server, definition)),
    resources: [Thing, CompositeController, DecoratorController, ControllerRevision],
    busy: server.busy,
  });
  const definitions = c.client.kind(CompositeController);
  await definitions.create(definition as never);
  await thing(c);
  await c.converges({ ready: false });
  const { uid } = (await c.client.kind(ConfigMap).get(here("a"))).metadata;
  const hooks = { sync: { webhook: { url: `${server.url}/second` } } };
  const second = { ...composite(server, { hooks }), metadata: { name: "again" } };
  await definitions.create(second as never);
  await c.until(
    async () => (await definitions.get({ name: "again" })).status?.conditions?.[0]?.status === "False",
  );
  await c.advance(30_000);
  expect((await definitions.get({ name: "again" })).status?.conditions?.[0]?.message).toContain(
    "CompositeController things",
  );
  expect((await c.client.kind(ConfigMap).get(here("a"))).metadata.uid).toBe(uid);
  // It runs when the other has gone.
  await definitions.delete({ name: "things" });
  await c.until(async () => (await c.client.kind(ConfigMap).find(here("b"))) !== undefined);
});
