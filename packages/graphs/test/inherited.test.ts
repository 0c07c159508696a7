/** Instances that kro kept before: their resources are taken over, and go with them. */
import { ConfigMap, Secret } from "@keelson/core/kinds";
import { checkDefinitions, clusterFacts, ResourceGraphDefinition } from "@keelson/graphs";
import { install as installCrds } from "@keelson/runtime";
import type { Cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { definitions, graphCluster, kindOf } from "./graphs.ts";

const definition = `
metadata: { name: pairs }
spec:
  schema: { apiVersion: v1alpha1, kind: Pair, spec: { value: string | default="a" } }
  resources:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}" }
      data: { value: "\${schema.spec.value}" }
  - id: secret
    template:
      apiVersion: v1
      kind: Secret
      metadata: { name: "\${config.metadata.name}" }
`;
const Pair = kindOf("Pair", "pairs");
const ref = { namespace: "default", name: "one" };
/** The id of the set of Pair default/one, as KEP-3659 has it. */
const set = "applyset-ImiXv347W9AOsaAkmTLFiW6R-xqpqcY9184a51LmgeI-v1";

/** A definition, its CRD, an instance and children as kro leaves them. */
async function leftByKro(c: Cluster): Promise<void> {
  const [checked] = await checkDefinitions(definitions(definition), clusterFacts(c.client));
  if (!checked?.graph) throw checked?.error;
  const { crd } = checked.graph;
  const mark = { "kro.run/owned": "true", "kro.run/resource-graph-definition-name": "pairs" };
  await installCrds(c.client, [{ crd: () => ({ ...crd, metadata: { ...crd.metadata, labels: mark } }) }]);
  await c.client.kind(ResourceGraphDefinition).create(checked.definition as never);
  const made = await c.client.kind(Pair).create({
    metadata: { ...ref, finalizers: ["kro.run/finalizer"], labels: { "applyset.kubernetes.io/id": set } },
    spec: {},
  });
  const labels = { "applyset.kubernetes.io/part-of": set, "kro.run/instance-id": made.metadata.uid };
  const child = (name: string, wave: string) => ({
    metadata: { namespace: "default", name, labels, annotations: { "internal.kro.run/apply-order": wave } },
  });
  const options = { force: true, fieldManager: "kro.run/applyset" };
  await c.client.kind(ConfigMap).apply({ ...child("one", "1"), data: { value: "a", gone: "yes" } }, options);
  await c.client.kind(ConfigMap).apply(child("old", "2"), options);
  await c.client.kind(Secret).apply(child("one", "2"), options);
}

test("what kro made is taken over field by field, and what it left behind goes", async () => {
  await using c = await graphCluster(definition, { managers: 0 });
  await leftByKro(c);
  c.startManager();
  await c.converges({ ready: false });
  expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ value: "a" });
  expect(await c.client.kind(ConfigMap).find({ ...ref, name: "old" })).toBeUndefined();
  expect((await c.client.kind(Pair).get(ref)).status?.state).toBe("ACTIVE");
  expect(c.forbidden).toEqual([]);
});

test("an instance that is deleted before anyone took it over leaves nothing", async () => {
  await using c = await graphCluster(definition, { managers: 0 });
  await leftByKro(c);
  await c.client.kind(Pair).delete(ref);
  c.startManager();
  await c.until(async () => (await c.client.kind(Pair).find(ref)) === undefined);
  for (const name of ["one", "old"])
    expect(await c.client.kind(ConfigMap).find({ ...ref, name })).toBeUndefined();
  expect(await c.client.kind(Secret).find(ref)).toBeUndefined();
});
