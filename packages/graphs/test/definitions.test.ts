/** Definitions that change, break, wait for kinds and use each other. */
import { ConfigMap, CustomResourceDefinition, Secret } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { expect, test } from "vitest";
import {
  change,
  condition,
  definitions,
  graphCluster,
  install,
  kindOf,
  settings,
  statusOf,
} from "./graphs.ts";

const second = settings
  .replace('value: string | default="a"', 'value: string | default="a", more: integer | default=2')
  .replace("kind: ConfigMap", "kind: Secret")
  .replace("data: { value: ", "stringData: { more: '${string(schema.spec.more)}', value: ");
const Settings = kindOf("Settings", "settings");
const ref = { namespace: "default", name: "one" };

test("a changed definition migrates its instances, and what it no longer makes goes", async () => {
  await using c = await graphCluster(settings, { alsoFor: second });
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await change(c, second);
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
  const secret = await c.client.kind(Secret).get(ref);
  expect(Buffer.from(secret.data?.["more"] ?? "", "base64").toString()).toBe("2");
  expect((await c.client.kind(Settings).get(ref)).spec).toMatchObject({ more: 2 });
  // Nobody has children of the earlier kind any more: it is not followed any longer.
  await c.advance(60_000);
  expect(c.managers[0]?.informers?.all().map(({ kind }) => kind.kind)).not.toContain("ConfigMap");
  expect(c.forbidden).toEqual([]);
});

test("a change that would break instances is refused, and allowed by an annotation", async () => {
  const broken = settings
    .replace('value: string | default="a"', "value: integer | default=1")
    .replace("schema.spec.value", "string(schema.spec.value)");
  await using c = await graphCluster(settings, { alsoFor: broken });
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await change(c, broken);
  const status = await statusOf(c, "settings");
  expect(status.state).toBe("Inactive");
  expect(condition(status, "KindReady")?.message).toContain(
    "the type of spec.value changes from string to integer",
  );
  await c.client.kind(ConfigMap).delete(ref);
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ value: "a" });
  await c.client
    .kind(ResourceGraphDefinition)
    .patch(
      { name: "settings" },
      { type: "merge", body: { metadata: { annotations: { "kro.run/allow-breaking-changes": "true" } } } },
    );
  await c.converges({ ready: false });
  expect((await statusOf(c, "settings")).state).toBe("Active");
});

test("a broken change leaves in force what was there, also after a restart", async () => {
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await change(c, settings.replace("schema.spec.value", "schema.spec.nothing"));
  expect((await statusOf(c, "settings")).state).toBe("Inactive");
  c.crash();
  await c.converges({ ready: false });
  await c.client.kind(ConfigMap).delete(ref);
  await c.converges({ ready: false });
  expect(await c.client.kind(ConfigMap).find(ref)).toBeDefined();
  await c.client.kind(Settings).delete(ref);
  await c.until(async () => (await c.client.kind(Settings).find(ref)) === undefined);
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
});

const outer = `
metadata: { name: outer }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Outer
    status: { inner: "\${settings.status.state}" }
  resources:
  - id: settings
    readyWhen: ["\${settings.status.state == 'ACTIVE'}"]
    template:
      apiVersion: kro.run/v1alpha1
      kind: Settings
      metadata: { name: "\${schema.metadata.name}-inner" }
      spec: { value: "\${schema.metadata.namespace}" }
`;

test("a definition waits for the kind of another, and graphs contain graphs", async () => {
  await using c = await graphCluster(`${outer}---${settings}`);
  await install(c, outer);
  expect(condition(await statusOf(c, "outer"), "Ready")?.message).toContain(
    "the cluster has no kind Settings in kro.run/v1alpha1",
  );
  await install(c, settings);
  await c.advance(30_000);
  expect((await statusOf(c, "outer")).state).toBe("Active");
  await c.client.kind(kindOf("Outer", "outers")).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  expect((await c.client.kind(kindOf("Outer", "outers")).get(ref)).status).toMatchObject({
    state: "ACTIVE",
    inner: "ACTIVE",
  });
  expect((await c.client.kind(ConfigMap).get({ ...ref, name: "one-inner" })).data).toEqual({
    value: "default",
  });
  await c.client.kind(kindOf("Outer", "outers")).delete(ref);
  await c.until(async () =>
    (await c.client.kind(ConfigMap).list()).items.every(({ metadata }) => metadata.name !== "one-inner"),
  );
});

test("a kind of another's is not taken over, and two definitions cannot have one kind", async () => {
  const twin = settings.replace("name: settings", "name: twin");
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(ResourceGraphDefinition).create(definitions(twin)[0] as never);
  await c.converges({ ready: false });
  expect(condition(await statusOf(c, "twin"), "Ready")?.message).toContain(
    "belongs to the definition settings",
  );
  expect((await statusOf(c, "settings")).state).toBe("Active");
});

test("a CRD that someone deletes is made again", async () => {
  await using c = await graphCluster(settings);
  await install(c, settings);
  await c.client.kind(CustomResourceDefinition).delete({ name: "settings.kro.run" });
  await c.converges({ ready: false });
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  expect((await c.client.kind(Settings).get(ref)).status?.state).toBe("ACTIVE");
});

test("with deleteCrds a definition that goes takes its instances along, in order", async () => {
  await using c = await graphCluster(settings, { graph: { deleteCrds: true } });
  await install(c, settings);
  await c.client.kind(Settings).create({ metadata: ref, spec: {} });
  await c.converges({ ready: false });
  await c.client.kind(ResourceGraphDefinition).delete({ name: "settings" });
  await c.until(
    async () => (await c.client.kind(ResourceGraphDefinition).find({ name: "settings" })) === undefined,
  );
  expect(await c.client.kind(CustomResourceDefinition).find({ name: "settings.kro.run" })).toBeUndefined();
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
});
