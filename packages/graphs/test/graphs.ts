/** A cluster that runs graphs with exactly the role that they need, and short ways to its objects. */
import { dynamicKind, type JsonObject, type Kind, type KubeObject, type Stored } from "@keelson/core";
import { Namespace } from "@keelson/core/kinds";
import {
  checkDefinitions,
  clusterFacts,
  type DefinitionSpec,
  type GraphCondition,
  type GraphOptions,
  graphRole,
  graphs,
  ResourceGraphDefinition,
} from "@keelson/graphs";
import type { PolicyRule } from "@keelson/runtime";
import { type Cluster, type ClusterOptions, cluster } from "@keelson/testing";
import { parse } from "yaml";

export interface Instance extends KubeObject {
  spec?: JsonObject;
  status?: JsonObject & { state?: string; conditions?: GraphCondition[] };
}

/** The kind of a definition's instances. */
export function kindOf(
  kind: string,
  resource: string,
  scope: "Namespaced" | "Cluster" = "Namespaced",
): Kind<Instance> {
  return dynamicKind({ group: "kro.run", version: "v1alpha1", kind, resource, scope }) as Kind<Instance>;
}

/** Definitions from YAML, one or several documents. */
export function definitions(text: string): { metadata: { name: string }; spec: DefinitionSpec }[] {
  return text
    .split(/^---$/m)
    .filter((each) => each.trim() !== "")
    .map((each) => parse(each));
}

/** What an operator with these definitions may do. Those of one kind are looked at one by one. */
export async function rulesFor(yaml: string, options: GraphOptions = {}): Promise<PolicyRule[]> {
  const all = definitions(yaml);
  await using empty = await cluster();
  const facts = clusterFacts(empty.client);
  const checked = await Promise.all(
    all.map(async (each) => {
      const others = all.filter(({ spec }) => spec.schema.kind !== each.spec.schema.kind);
      return (await checkDefinitions([...others, each], facts)).at(-1);
    }),
  );
  return graphRole(
    checked.flatMap((each) => (each?.graph ? [{ graph: each.graph }] : [])),
    options,
  );
}

/** A cluster whose managers may do what these definitions need, and nothing else. */
export async function graphCluster(
  yaml: string,
  options: ClusterOptions & { graph?: GraphOptions; alsoFor?: string } = {},
): Promise<Cluster> {
  const { graph, alsoFor = "", ...rest } = options;
  const rules = await rulesFor(`${yaml}\n---\n${alsoFor}`, graph);
  return await cluster({ controllers: [graphs(graph)], rules, ...rest });
}

/** Installs definitions and waits until everything has come to rest. */
export async function install(c: Cluster, yaml: string): Promise<void> {
  for (const each of definitions(yaml)) await c.client.kind(ResourceGraphDefinition).create(each as never);
  await c.converges({ ready: false });
}

export async function change(c: Cluster, yaml: string): Promise<void> {
  for (const { metadata, spec } of definitions(yaml)) {
    const live = await c.client.kind(ResourceGraphDefinition).get(metadata);
    await c.client.kind(ResourceGraphDefinition).update({ ...live, spec } as never);
  }
  await c.converges({ ready: false });
}

export async function statusOf(c: Cluster, name: string) {
  const { status } = await c.client.kind(ResourceGraphDefinition).get({ name });
  return status ?? {};
}

export function condition(status: { conditions?: readonly GraphCondition[] } | undefined, type: string) {
  return status?.conditions?.find((each) => each.type === type);
}

export async function namespace(c: Cluster, name: string): Promise<void> {
  await c.client.kind(Namespace).create({ metadata: { name } });
}

export type StoredInstance = Stored<Instance>;

/** A definition of one ConfigMap. */
export const settings = `
metadata: { name: settings }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Settings
    spec: { value: string | default="a" }
  resources:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}" }
      data: { value: "\${schema.spec.value}" }
`;
