/** Memcached as a graph, from the file that users run. */

import { dynamicKind, type JsonObject } from "@keelson/core";
import {
  checkDefinitions,
  clusterFacts,
  graphRole,
  graphs,
  ResourceGraphDefinition,
  readDefinitionFiles,
} from "@keelson/graphs";
import { cluster } from "@keelson/testing";
import { Deployment, PodDisruptionBudget, Service } from "keelson/kinds";
import { expect, test } from "vitest";

const Memcached = dynamicKind({
  group: "kro.run",
  version: "v1alpha1",
  kind: "Memcached",
  resource: "memcacheds",
  scope: "Namespaced",
});
const ref = { namespace: "default", name: "sessions" };

test("Memcached in one file of YAML becomes ready, follows its size, and leaves nothing", async () => {
  const { definitions } = readDefinitionFiles(
    new URL("../../nocode/memcached.yaml", import.meta.url).pathname,
  );
  const [definition] = definitions;
  await using empty = await cluster();
  const [checked] = await checkDefinitions(definitions, clusterFacts(empty.client));
  if (!checked?.graph || !definition) throw checked?.error ?? new Error("the file has no definition");
  const rules = graphRole([{ graph: checked.graph }]);
  await using c = await cluster({ controllers: [graphs()], rules, workloads: true });
  const { metadata, spec } = definition;
  await c.client.kind(ResourceGraphDefinition).create({ metadata: { name: metadata.name }, spec });
  await c.converges({ ready: false });

  await c.client.kind(Memcached).create({ metadata: ref, spec: { size: 2 } } as never);
  await c.converges({ ready: false, writesWhenIdle: 0 });
  const status = async () =>
    ((await c.client.kind(Memcached).get(ref)) as unknown as { status: JsonObject }).status;
  expect(await status()).toMatchObject({
    state: "ACTIVE",
    readyReplicas: 2,
    address: "sessions.default.svc:11211",
  });
  const deployment = await c.client.kind(Deployment).get(ref);
  expect(deployment.spec?.template.spec?.containers[0]?.resources?.limits).toEqual({ memory: "96Mi" });
  expect(await c.client.kind(PodDisruptionBudget).find(ref)).toBeDefined();

  await c.client.kind(Memcached).patch(ref, { type: "merge", body: { spec: { size: 1 } } });
  await c.client.kind(Service).delete(ref);
  await c.converges({ ready: false });
  expect(await status()).toMatchObject({ state: "ACTIVE", readyReplicas: 1 });
  expect(await c.client.kind(Service).find(ref)).toBeDefined();
  expect(await c.client.kind(PodDisruptionBudget).find(ref)).toBeUndefined();

  await c.client.kind(Memcached).delete(ref);
  await c.until(async () => (await c.client.kind(Memcached).find(ref)) === undefined);
  expect(await c.client.kind(Deployment).find(ref)).toBeUndefined();
  expect(c.forbidden).toEqual([]);
});
