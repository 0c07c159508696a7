/** Definitions that go, come back or change while instances are there: nothing of anyone's is lost. */
import { dynamicKind, type Kind, type KubeObject, parseJson } from "@keelson/core";
import { ConfigMap, CustomResourceDefinition, PersistentVolumeClaim } from "@keelson/core/kinds";
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { definitions, graphCluster, install, kindOf, settings, statusOf } from "./graphs.ts";

const Settings = kindOf("Settings", "settings");
const ref = { namespace: "default", name: "one" };

test("a definition that was refused because another has its kind goes without stopping that one", async () => {
  const twin = settings.replace("name: settings", "name: twin");
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(ResourceGraphDefinition).create(definitions(twin)[0] as never);
  await c.converges({ ready: false });
  await c.client.kind(ResourceGraphDefinition).delete({ name: "twin" });
  await c.until(
    async () => (await c.client.kind(ResourceGraphDefinition).find({ name: "twin" })) === undefined,
  );
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  expect((await c.client.kind(Settings).get(ref)).status?.state).toBe("ACTIVE");
});

test("with deleteCrds a process that starts in the middle takes the instances away", async () => {
  await using c = await graphCluster(settings, { graph: { deleteCrds: true } });
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  // The ConfigMap is held, so that the deletion is under way when the process dies.
  await c.client
    .kind(ConfigMap)
    .patch(ref, { type: "merge", body: { metadata: { finalizers: ["example.com/held"] } } });
  await c.client.kind(ResourceGraphDefinition).delete({ name: "settings" });
  await c.until(async () => (await c.client.kind(Settings).get(ref)).status?.state === "DELETING");
  c.crash();
  await c.converges({ ready: false });
  await c.client.kind(ConfigMap).patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
  await c.until(
    async () => (await c.client.kind(ResourceGraphDefinition).find({ name: "settings" })) === undefined,
  );
  expect(await c.client.kind(CustomResourceDefinition).find({ name: "settings.kro.run" })).toBeUndefined();
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
});

const versions = ["v1", "v2"].map((name) => ({
  name,
  served: true,
  storage: name === "v1",
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    },
  },
}));
const boxCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boxes.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Box", plural: "boxes", singular: "box", listKind: "BoxList" },
    versions,
  },
};
const Box = dynamicKind({
  group: "example.com",
  version: "v1",
  kind: "Box",
  resource: "boxes",
  scope: "Namespaced",
}) as Kind<KubeObject>;
const boxes = `
metadata: { name: shelf }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Shelf
    spec: { size: integer | default=1 }
  resources:
  - id: box
    template:
      apiVersion: example.com/v1
      kind: Box
      metadata: { name: "\${schema.metadata.name}" }
      spec: { size: "\${schema.spec.size}" }
`;
const verbs = ["get", "list", "watch", "create", "patch", "update", "delete"] as const;
const Shelf = kindOf("Shelf", "shelves");

test("a resource whose definition names another version of its kind stays the same object", async () => {
  await using c = await cluster({
    controllers: [graphs()],
    rules: [
      { apiGroups: ["kro.run"], resources: ["shelves", "shelves/status"], verbs: [...verbs] },
      { apiGroups: ["example.com"], resources: ["boxes"], verbs: [...verbs] },
    ],
  });
  await c.client.kind(CustomResourceDefinition).create(boxCrd as never);
  await c.converges({ ready: false });
  await install(c, boxes);
  await c.client.kind(Shelf).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  const { uid } = (await c.client.kind(Box).get(ref)).metadata;
  // The cache of the earlier version does not see that the box moved.
  c.faults.hold("boxes");
  const [next] = definitions(boxes.replace("example.com/v1\n", "example.com/v2\n"));
  await c.client
    .kind(ResourceGraphDefinition)
    .patch({ name: "shelf" }, { type: "merge", body: { spec: next?.spec } as never });
  await c.until(
    async () =>
      (await c.client.kind(Box).get(ref)).metadata.labels?.["keelson.dev/slot"] === "box.example.com.v2",
  );
  await c.advance(10_000);
  c.faults.release("boxes");
  await c.converges({ ready: false });
  expect((await statusOf(c, "shelf")).state).toBe("Active");
  expect((await c.client.kind(Box).get(ref)).metadata.uid).toBe(uid);
  expect((await c.client.kind(Shelf).get(ref)).status?.state).toBe("ACTIVE");
  // The earlier version has no children of its own any more: it is not followed any longer.
  await c.advance(60_000);
  const followed = c.managers[0]?.informers?.all().map(({ kind }) => `${kind.kind} ${kind.version}`);
  expect(followed).not.toContain("Box v1");
});

test("what another operator keeps for its user is not taken over", async () => {
  const claims = settings
    .replace("kind: ConfigMap", "kind: PersistentVolumeClaim")
    .replace(
      / data: .*/,
      " spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }",
    );
  await using c = await graphCluster(claims);
  await install(c, claims);
  await c.client.kind(PersistentVolumeClaim).create({
    metadata: { ...ref, labels: { "keelson.dev/controller": "database", "keelson.dev/slot": "data" } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.until(async () => (await c.client.kind(Settings).get(ref)).status?.state === "ERROR");
  await c.client.kind(Settings).delete(ref);
  await c.until(async () => (await c.client.kind(Settings).find(ref)) === undefined);
  expect(await c.client.kind(PersistentVolumeClaim).find(ref)).toBeDefined();
});

test("a definition that goes waits for instances that go with it", async () => {
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  const held = { metadata: { finalizers: ["example.com/held"] } };
  await c.client.kind(ConfigMap).patch(ref, { type: "merge", body: held });
  await c.client.kind(Settings).delete(ref);
  await c.client.kind(ResourceGraphDefinition).delete({ name: "settings" });
  await c.advance(30_000);
  c.crash();
  await c.advance(30_000);
  await c.client.kind(ConfigMap).patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
  await c.until(async () => (await c.client.kind(Settings).find(ref)) === undefined);
  await c.until(
    async () => (await c.client.kind(ResourceGraphDefinition).find({ name: "settings" })) === undefined,
  );
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
});

test("a whole number of 64 bits reaches resources and status as it is", async () => {
  const big = settings
    .replace('value: string | default="a"', "value: integer")
    .replace("schema.spec.value", "string(schema.spec.value)")
    .replace("  resources:", '    status: { seen: "${schema.spec.value}" }\n  resources:');
  await using c = await graphCluster(big);
  await install(c, big);
  const value = parseJson("9007199254740993");
  await c.client.kind(Settings).create({ metadata: ref, spec: { value } as never });
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ value: "9007199254740993" });
  const { status } = await c.client.kind(Settings).get(ref);
  expect(JSON.stringify(status?.["seen"])).toBe("9007199254740993");
});

test("expressions that cost too much together are an error, and hold up nobody", async () => {
  const costly = `
metadata: { name: settings }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Settings
    spec: { items: "[]integer" }
  resources:
  - id: config
    forEach: [{ number: "\${schema.spec.items}" }]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-\${string(number)}" }
      data:
        twins: "\${string(schema.spec.items.filter(a, schema.spec.items.exists(b, a + b + number < 0)).size())}"
`;
  await using c = await graphCluster(costly);
  await install(c, costly);
  const items = Array.from({ length: 150 }, (_, index) => index);
  await c.client.kind(Settings).create({ metadata: ref, spec: { items } });
  await c.until(async () => (await c.client.kind(Settings).get(ref)).status?.state === "ERROR");
  const { status } = await c.client.kind(Settings).get(ref);
  expect(status?.conditions?.find(({ type }) => type === "Ready")?.message).toMatch(/cost/);
});

test("a resource whose label was changed to another operator's is still the instance's", async () => {
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  const body = { metadata: { labels: { "keelson.dev/controller": "other" } } };
  await c.client.kind(ConfigMap).patch(ref, { type: "merge", body });
  await c.converges({ ready: false });
  expect((await c.client.kind(Settings).get(ref)).status?.state).toBe("ACTIVE");
  expect((await c.client.kind(ConfigMap).get(ref)).metadata.labels).toMatchObject({
    "keelson.dev/controller": "settings.kro.run",
  });
});
