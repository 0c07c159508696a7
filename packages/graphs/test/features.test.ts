/** What templates can do: loops, references to what others have, conditions of the author's, fields left out. */
import { ConfigMap, Namespace, Secret } from "@keelson/core/kinds";
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { everyCrash } from "@keelson/testing";
import { expect, test } from "vitest";
import {
  condition,
  definitions,
  graphCluster,
  install,
  kindOf,
  namespace,
  rulesFor,
  statusOf,
} from "./graphs.ts";

const ref = { namespace: "default", name: "one" };

const shards = `
metadata: { name: shards }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Shards
    spec:
      names: "[]string"
      tiers: '[]string | default=["a"]'
    status:
      made: \${string(size(shard))}
      list: \${shard.map(s, s.metadata.name)}
  resources:
  - id: shard
    forEach:
    - name: \${schema.spec.names}
    - tier: \${schema.spec.tiers}
    readyWhen:
    - \${has(each.data.ready) && each.data.ready == 'yes'}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-\${name}-\${tier}" }
      data: { tier: "\${tier}" }
  - id: summary
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}" }
      data: { shards: "\${shard.map(s, s.metadata.name).join(',')}" }
`;
const Shards = kindOf("Shards", "shards");

test("a loop makes an object for each combination, waits for all, and follows its lists", async () => {
  await using c = await graphCluster(shards);
  await install(c, shards);
  await c.client.kind(Shards).create({ metadata: ref, spec: { names: ["x", "y"], tiers: ["a", "b"] } });
  await c.converges({ ready: false });
  const names = async () =>
    (
      await c.client.kind(ConfigMap).list({ namespace: "default", labels: "kro.run/node-id=shard" })
    ).items.map(({ metadata }) => metadata.name);
  expect(await names()).toEqual(["one-x-a", "one-x-b", "one-y-a", "one-y-b"]);
  expect((await c.client.kind(Shards).get(ref)).status?.state).toBe("IN_PROGRESS");
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
  for (const name of await names()) {
    await c.client
      .kind(ConfigMap)
      .patch({ ...ref, name }, { type: "merge", body: { data: { ready: "yes" } } });
  }
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({
    shards: "one-x-a,one-x-b,one-y-a,one-y-b",
  });
  await c.client.kind(Shards).patch(ref, { type: "merge", body: { spec: { names: ["y"] } } });
  await c.converges({ ready: false });
  expect(await names()).toEqual(["one-y-a", "one-y-b"]);
  const { status } = await c.client.kind(Shards).get(ref);
  expect(status).toMatchObject({ state: "ACTIVE", made: "2", list: ["one-y-a", "one-y-b"] });
  expect((await c.client.kind(ConfigMap).get({ ...ref, name: "one-y-a" })).metadata.labels).toMatchObject({
    "kro.run/collection-index": "0",
    "kro.run/collection-size": "2",
  });
  await c.client.kind(Shards).patch(ref, { type: "merge", body: { spec: { names: [] } } });
  await c.converges({ ready: false });
  expect(await names()).toEqual([]);
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ shards: "" });
});

const reader = `
metadata: { name: reader }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Reader
    spec: { source: string, team: string }
  resources:
  - id: source
    externalRef:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.spec.source}", namespace: library }
  - id: second
    externalRef:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${source.data.next}", namespace: library }
  - id: keys
    externalRef:
      apiVersion: v1
      kind: Secret
      metadata:
        namespace: library
        selector: { matchLabels: { team: "\${schema.spec.team}" } }
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}" }
      data:
        text: "\${source.?data.text.orValue('none')} \${second.data.text}"
        keys: "\${keys.map(k, k.metadata.name).join(',')}"
        key: "\${keys.map(k, string(k.data.key)).join(',')}"
`;
const Reader = kindOf("Reader", "readers");

test("external references are waited for and followed, by name, by another's name, and by selector", async () => {
  await using c = await graphCluster(reader);
  await namespace(c, "library");
  await install(c, reader);
  const book = (name: string, data: Record<string, string>) =>
    c.client.kind(ConfigMap).create({ metadata: { namespace: "library", name }, data });
  await c.client.kind(Reader).create({ metadata: ref, spec: { source: "first", team: "red" } });
  await c.converges({ ready: false });
  const { status } = await c.client.kind(Reader).get(ref);
  expect(status?.state).toBe("IN_PROGRESS");
  expect(condition(status, "ResourcesReady")?.message).toContain("source is not there yet");
  await book("first", { next: "other", text: "once" });
  await book("other", { text: "upon" });
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ text: "once upon", keys: "", key: "" });
  for (const name of ["k1", "k2"]) {
    const labels = { team: name === "k1" ? "red" : "blue" };
    await c.client
      .kind(Secret)
      .create({ metadata: { namespace: "library", name, labels }, stringData: { key: "s3cret" } });
  }
  await c.client
    .kind(ConfigMap)
    .patch({ namespace: "library", name: "other" }, { type: "merge", body: { data: { text: "more" } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({
    text: "once more",
    keys: "k1",
    key: "s3cret",
  });
  expect((await c.client.kind(Reader).get(ref)).status?.state).toBe("ACTIVE");
  // What is read is not owned.
  await c.client.kind(Reader).delete(ref);
  await c.converges({ ready: false });
  expect(await c.client.kind(ConfigMap).find({ namespace: "library", name: "first" })).toBeDefined();
  expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
  expect(c.forbidden).toEqual([]);
});

const tenants = `
metadata: { name: tenants }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Tenant
    scope: Cluster
    spec: { quota: integer | default=1, note: string }
    status:
      conditions:
      - "\${runtime.newCondition({type: 'Settled', status: runtime.condition(schema, 'ResourcesReady').status, reason: 'Counted', message: string(schema.spec.quota)})}"
  resources:
  - id: room
    template:
      apiVersion: v1
      kind: Namespace
      metadata: { name: "\${schema.metadata.name}-room" }
  - id: limits
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: limits
        namespace: \${room.metadata.name}
        annotations: { note: "\${schema.spec.?note.orValue('') == '' ? omit() : schema.spec.note}" }
      data: { quota: "\${string(schema.spec.quota)}" }
`;
const Tenant = kindOf("Tenant", "tenants", "Cluster");

test("a cluster-scoped graph makes namespaces and what is in them, with conditions of its author", async () => {
  await using c = await graphCluster(tenants);
  await install(c, tenants);
  await c.client.kind(Tenant).create({ metadata: { name: "red" }, spec: {} });
  await c.converges({ ready: false });
  const place = { namespace: "red-room", name: "limits" };
  const limits = await c.client.kind(ConfigMap).get(place);
  expect(limits.data).toEqual({ quota: "1" });
  expect(limits.metadata.annotations).not.toHaveProperty("note");
  expect((await c.client.kind(Tenant).get({ name: "red" })).status).toMatchObject({
    state: "ACTIVE",
    conditions: [{ type: "Settled", status: "True", reason: "Counted", message: "1" }],
  });
  await c.client.kind(Tenant).patch({ name: "red" }, { type: "merge", body: { spec: { note: "hello" } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(place)).metadata.annotations).toMatchObject({ note: "hello" });
  await c.client.kind(Tenant).delete({ name: "red" });
  const room = async () => await c.client.kind(Namespace).get({ name: "red-room" });
  await c.until(async () => (await room()).metadata.deletionTimestamp !== undefined);
  // It goes when its contents are gone, which the namespace controller sees to; so does what waits for it.
  expect(await c.client.kind(Tenant).find({ name: "red" })).toBeDefined();
  await c.client
    .kind(Namespace)
    .subresource("finalize")
    .update({ ...(await room()), spec: { finalizers: [] } } as never);
  await c.until(async () => (await c.client.kind(Tenant).find({ name: "red" })) === undefined);
});

test("whenever the process dies, instances are completed and taken away completely", {
  timeout: 120_000,
}, async () => {
  const small = shards.replace(/ {4}readyWhen:\n.*\n/, "");
  await everyCrash({ controllers: [graphs()], rules: await rulesFor(small) }, async (c) => {
    await c.client.kind(ResourceGraphDefinition).create(definitions(small)[0] as never);
    await c.until(async () => (await statusOf(c, "shards")).state === "Active");
    await c.client.kind(Shards).create({ metadata: ref, spec: { names: ["x"] } });
    await c.until(async () => (await c.client.kind(Shards).get(ref)).status?.state === "ACTIVE");
    expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ shards: "one-x-a" });
    await c.client.kind(Shards).delete(ref);
    await c.until(async () => (await c.client.kind(Shards).find(ref)) === undefined);
    expect((await c.client.kind(ConfigMap).list({ labels: "kro.run/owned=true" })).items).toEqual([]);
  });
});
