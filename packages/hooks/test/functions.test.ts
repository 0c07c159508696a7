/** Hooks as functions of the process. */
import { ConfigMap } from "@keelson/core/kinds";
import { roleFor } from "@keelson/runtime";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { hookControllers, type SyncRequest } from "../src/index.ts";
import { discovering, map, Thing } from "./things.ts";

const credentials = { basicAuth: { secretRef: { name: "login", namespace: "default" } } };
const webhook = { service: { name: "hook", namespace: "default" }, path: "/sync", ...credentials };
const definition = {
  apiVersion: "metacontroller.k8s.io/v1alpha1",
  kind: "CompositeController",
  metadata: { name: "things" },
  spec: {
    generateSelector: true,
    parentResource: { apiVersion: "example.com/v1", resource: "things" },
    childResources: [{ apiVersion: "v1", resource: "configmaps", updateStrategy: { method: "InPlace" } }],
    hooks: { sync: { webhook } },
  },
};

test("a function takes the place of a hook, and its address and credentials are not needed", async () => {
  const asked: SyncRequest[] = [];
  const functions = {
    sync: (request: SyncRequest) => {
      asked.push(request);
      return {
        status: { children: Object.keys(request.children["ConfigMap.v1"] ?? {}).length },
        children: [map("made", { of: request.parent.metadata?.name ?? "" })],
      };
    },
  };
  const controllers = await hookControllers([definition], discovering, { functions });
  await using c = await cluster({ controllers, resources: [Thing] });
  const ref = { namespace: "default", name: "one" };
  await c.client.kind(Thing).create(Thing.object({ metadata: ref, spec: {} }));
  await c.converges({ ready: false, writesWhenIdle: 0 });
  expect((await c.client.kind(ConfigMap).get({ ...ref, name: "made" })).data).toEqual({ of: "one" });
  expect((await c.client.kind(Thing).get(ref)).status?.children).toBe(1);
  expect(asked.at(-1)).toMatchObject({ finalizing: false, parent: { kind: "Thing" } });
  const resources = (made: typeof controllers) => roleFor(made).flatMap((rule) => rule.resources);
  expect(resources(controllers)).not.toContain("secrets");
  expect(resources(await hookControllers([definition], discovering))).toContain("secrets");
});

test("a finalize hook may be a function that the definition does not name", async () => {
  const functions = {
    sync: () => ({ children: [map("made", {})] }),
    finalize: ({ children }: SyncRequest) => ({
      children: [],
      finalized: Object.keys(children["ConfigMap.v1"] ?? {}).length === 0,
    }),
  };
  const controllers = await hookControllers([definition], discovering, { functions });
  await using c = await cluster({ controllers, resources: [Thing] });
  const ref = { namespace: "default", name: "one" };
  await c.client.kind(Thing).create(Thing.object({ metadata: ref, spec: {} }));
  await c.converges({ ready: false });
  await c.client.kind(Thing).delete(ref);
  await c.until(async () => (await c.client.kind(Thing).find(ref)) === undefined);
  expect(await c.client.kind(ConfigMap).find({ ...ref, name: "made" })).toBeUndefined();
});
