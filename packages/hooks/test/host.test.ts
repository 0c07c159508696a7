/** Definitions in the cluster, and definitions that cannot work. */
import type { KubeObject } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { roleFor } from "@keelson/runtime";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { CompositeController, ControllerRevision, DecoratorController, hookHosts } from "../src/index.ts";
import { hookServer } from "./hook-server.ts";
import { composite, controllersFor, decorator, map, Thing } from "./things.ts";

const here = (name: string) => ({ namespace: "default", name });
const selector = { matchLabels: { thing: "one" } };

test("a definition runs as long as it is in the cluster, and changes with it", async () => {
  await using server = await hookServer({
    "/sync": () => ({ children: [map("made", { by: "first" })] }),
    "/other": () => ({ children: [map("made", { by: "second" })] }),
  });
  const definition = composite(server);
  await using c = await cluster({
    controllers: hookHosts({ transport: server.transport, services: "dns" }),
    rules: roleFor(await controllersFor(server, definition)),
    resources: [CompositeController, DecoratorController, ControllerRevision],
    busy: server.busy,
  });
  const definitions = c.client.kind(CompositeController);
  await definitions.create(definition as never);
  await c.advance(1_000);
  // Its parents are not known to the cluster yet.
  expect((await definitions.get({ name: "things" })).status?.conditions).toMatchObject([
    { type: "Ready", status: "False", reason: "InvalidDefinition" },
  ]);
  await c.client.raw({
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body: Thing.crd() as never,
  });
  await c.until(async () => {
    const { status } = await definitions.get({ name: "things" });
    return status?.conditions?.[0]?.status === "True";
  });
  await c.client.kind(Thing).create(Thing.object({ metadata: here("one"), spec: { selector } }));
  const by = async () => (await c.client.kind(ConfigMap).find(here("made")))?.data?.["by"];
  await c.until(async () => (await by()) === "first");

  const hooks = { sync: { webhook: { url: `${server.url}/other` } } };
  await definitions.patch({ name: "things" }, { type: "merge", body: { spec: { hooks } } });
  await c.until(async () => (await by()) === "second");
  c.crash();
  await c.advance(5_000);
  await c.client.kind(ConfigMap).delete(here("made"));
  await c.until(async () => (await by()) === "second");

  await definitions.delete({ name: "things" });
  await c.advance(1_000);
  await c.client.kind(ConfigMap).delete(here("made"));
  await c.advance(60_000);
  expect(await by()).toBeUndefined();
});

test("a definition that cannot work is one sentence", async () => {
  await using server = await hookServer({});
  const refused = async (definition: KubeObject) =>
    await controllersFor(server, definition).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  const parentResource = { apiVersion: "example.com/v1", resource: "things" };
  const rolling = [{ apiVersion: "v1", resource: "secrets", updateStrategy: { method: "RollingInPlace" } }];
  expect(await refused(composite(server, { hooks: {} }))).toBe(
    "CompositeController things has no hooks; give it spec.hooks.sync",
  );
  expect(await refused(composite(server, { hooks: { sync: { webhook: {} } } }))).toBe(
    "the sync hook of CompositeController things needs a url, or a service and a path",
  );
  expect(await refused(composite(server, { hooks: { sync: { webhook: { url: "ftp://x" } } } }))).toMatch(
    /is called over http or https, not over ftp:/,
  );
  expect(
    await refused(composite(server, { hooks: { sync: { webhook: { url: "http://x", timeout: "soon" } } } })),
  ).toMatch(/timeout "soon" of the sync hook .* is no duration/);
  expect(
    await refused(composite(server, { parentResource: { ...parentResource, resource: "nothings" } })),
  ).toMatch(/names nothings of example.com\/v1, which the cluster does not serve/);
  expect(await refused(composite(server, { childResources: [...rolling, ...rolling] }))).toMatch(
    /names Secret twice/,
  );
  expect(
    await refused(
      composite(server, {
        parentResource: { ...parentResource, resource: "clusterthings" },
        childResources: rolling,
      }),
    ),
  ).toMatch(/has no namespace to keep revisions in/);
  expect(await refused(decorator(server, { attachments: rolling }))).toMatch(
    /cannot roll out changes of Secret/,
  );
  expect(await refused({ ...composite(server), kind: "Deployment" })).toMatch(
    /neither a CompositeController nor/,
  );
  expect(await refused(composite(server, { childResources: [{ resource: "pods" }] }))).toMatch(/apiVersion/);
});
