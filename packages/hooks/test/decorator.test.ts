/** DecoratorControllers on the embedded API server, with hooks on loopback. */
import type { JsonObject, Stored } from "@keelson/core";
import { ConfigMap, Pod, Secret } from "@keelson/core/kinds";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { type Asked, hookServer } from "./hook-server.ts";
import { controllersFor, decorator, map, Thing } from "./things.ts";

const here = (name: string) => ({ namespace: "default", name });
const annotations = { decorate: "yes" };
const attached = ({ body }: Asked) =>
  body["attachments"] as unknown as Record<string, Record<string, Stored>>;

test("an object gets labels, annotations and attachments, and loses what is null", async () => {
  await using server = await hookServer({
    "/sync": () => ({
      labels: { added: "1", old: null },
      annotations: { noted: "2" },
      attachments: [map("attached", { a: "1" })],
    }),
  });
  await using c = await cluster({
    controllers: await controllersFor(server, decorator(server)),
    busy: server.busy,
  });
  await c.client.kind(Secret).create({ metadata: { ...here("plain") } });
  const labels = { old: "x", theirs: "y" };
  await c.client.kind(Secret).create({ metadata: { ...here("chosen"), annotations, labels } });
  await c.converges();
  const chosen = await c.client.kind(Secret).get(here("chosen"));
  expect(chosen.metadata.labels).toEqual({ added: "1", theirs: "y" });
  expect(chosen.metadata.annotations).toEqual({ decorate: "yes", noted: "2" });
  expect((await c.client.kind(Secret).get(here("plain"))).metadata.labels).toBeUndefined();
  const made = await c.client.kind(ConfigMap).get(here("attached"));
  expect(made.metadata.annotations).toEqual({ "metacontroller.k8s.io/decorator-controller": "decorates" });
  expect(made.metadata.ownerReferences).toMatchObject([{ kind: "Secret", name: "chosen", controller: true }]);
  const asked = server.asked.at(-1) as Asked;
  expect(Object.keys(asked.body)).toEqual(["controller", "object", "attachments", "related", "finalizing"]);
  expect(Object.keys(attached(asked)["ConfigMap.v1"] ?? {})).toEqual(["attached"]);
  expect(c.forbidden).toEqual([]);
});

test("an object that is no longer chosen is finalized, and the finalizer goes", async () => {
  await using server = await hookServer({
    "/sync": () => ({ attachments: [map("attached", {})] }),
    "/finalize": (asked) => ({ finalized: Object.keys(attached(asked)["ConfigMap.v1"] ?? {}).length === 0 }),
  });
  const hooks = {
    sync: { webhook: { url: `${server.url}/sync` } },
    finalize: { webhook: { url: `${server.url}/finalize` } },
  };
  const controllers = await controllersFor(server, decorator(server, { hooks }));
  await using c = await cluster({ controllers, busy: server.busy });
  await c.client.kind(Secret).create({ metadata: { ...here("chosen"), annotations } });
  await c.converges();
  const finalizers = async () => (await c.client.kind(Secret).get(here("chosen"))).metadata.finalizers;
  expect(await finalizers()).toEqual(["metacontroller.io/decoratorcontroller-decorates"]);
  const out = { type: "merge" as const, body: { metadata: { annotations: { decorate: null } } } };
  await c.client.kind(Secret).patch(here("chosen"), out);
  await c.converges();
  expect(await c.client.kind(ConfigMap).find(here("attached"))).toBeUndefined();
  expect(await finalizers()).toBeUndefined();
});

test("several kinds, names of v2, and a status", async () => {
  await using server = await hookServer({
    "/sync": ({ body }) => ({
      status: { text: Object.keys((body["attachments"] as JsonObject)["ConfigMap.v1"] as JsonObject).join() },
      attachments: [map("attached", {}, { labels: {} })],
    }),
  });
  const definition = decorator(server, {
    resources: [
      { apiVersion: "v1", resource: "pods", labelSelector: { matchLabels: { no: "pods" } } },
      { apiVersion: "example.com/v1", resource: "things", ignoreStatusChanges: true },
    ],
    hooks: { sync: { version: "v2", webhook: { url: `${server.url}/sync` } } },
  });
  const controllers = await controllersFor(server, definition);
  expect(controllers.map(({ name }) => name)).toEqual(["decorator-decorates", "decorator-decorates-1"]);
  await using c = await cluster({ controllers, resources: [Thing], busy: server.busy });
  await c.client.kind(Thing).create(Thing.object({ metadata: here("one"), spec: {} }));
  await c.client.kind(Pod).create({ metadata: here("p"), spec: { containers: [{ name: "c", image: "i" }] } });
  await c.converges();
  expect((await c.client.kind(Thing).get(here("one"))).status?.text).toBe("default/attached");
  expect(await c.client.kind(ConfigMap).find(here("attached"))).toBeDefined();
});
