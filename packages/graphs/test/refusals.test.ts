/** Definitions that are refused: one sentence that names the place, and nothing is made. */
import { CustomResourceDefinition } from "@keelson/core/kinds";
import { checkDefinitions, clusterFacts, ResourceGraphDefinition } from "@keelson/graphs";
import { type Cluster, cluster } from "@keelson/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { condition, definitions, graphCluster, statusOf } from "./graphs.ts";

let c: Cluster;
beforeAll(async () => {
  c = await cluster();
});
afterAll(async () => {
  await c[Symbol.asyncDispose]();
});

const head = `
metadata: { name: bad }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Bad
    spec: { name: string, size: integer, list: "[]string" }
`;

async function errorOf(resources: string, text = head): Promise<string> {
  const [result] = await checkDefinitions(
    definitions(`${text}  resources:\n${resources}`),
    clusterFacts(c.client),
  );
  return result?.error?.message ?? "";
}

const config = (data: string, rest = "") => `
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: a }
      data: ${data}
${rest}`;

describe("is refused", () => {
  test.each([
    [
      "an unknown kind",
      "  - id: a\n    template: { apiVersion: v1, kind: Confmap, metadata: { name: a } }",
      "spec.resources[0].template.kind: the cluster has no kind Confmap in v1",
    ],
    [
      "an unknown field",
      "  - id: a\n    template: { apiVersion: v1, kind: ConfigMap, metadata: { name: a }, datas: {} }",
      "spec.resources[0].template.datas: there is no field datas here; there is data",
    ],
    [
      "a literal of another type",
      "  - id: a\n    template: { apiVersion: apps/v1, kind: Deployment, metadata: { name: a }, spec: { replicas: many } }",
      "spec.resources[0].template.spec.replicas: a string stands here where an integer is needed",
    ],
    [
      "an expression of another type",
      config("{ a: '${schema.spec.size}' }"),
      "spec.resources[0].template.data.a: ${schema.spec.size} does not fit here: it is an integer where a string is needed",
    ],
    [
      "a list where an object is needed",
      config("${schema.spec.list}"),
      "it is a list where an object is needed",
    ],
    [
      "an unknown field in an expression",
      config("{ a: '${schema.spec.sice}' }"),
      "${schema.spec.sice} is no valid expression: undefined field 'sice'",
    ],
    ["an unknown name", config("{ a: '${unheard.spec}' }"), "undeclared reference to 'unheard'"],
    [
      "a syntax error",
      config("{ a: '${schema.spec.}' }"),
      "spec.resources[0].template.data.a: ${schema.spec.} is no valid expression",
    ],
    [
      "a resource that refers to itself",
      config("{ a: '${config.metadata.name}' }"),
      "config refers to itself",
    ],
    [
      "a circle",
      config(
        "{ a: '${other.metadata.name}' }",
        "  - id: other\n    template: { apiVersion: v1, kind: ConfigMap, metadata: { name: '${config.metadata.name}x' } }",
      ),
      "resources refer to each other in a circle: config → other → config",
    ],
    [
      "a reserved id",
      "  - id: schema\n    template: { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }",
      "spec.resources[0].id: schema is a reserved word",
    ],
    [
      "an id with a dash",
      "  - id: my-config\n    template: { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }",
      'spec.resources[0].id: "my-config" must be in lowerCamelCase',
    ],
    [
      "two resources of one id",
      config("{}", config("{}")),
      "spec.resources[1].id: two resources have the id config",
    ],
    [
      "a namespace of a cluster-scoped kind",
      "  - id: a\n    template: { apiVersion: v1, kind: Namespace, metadata: { name: a, namespace: b } }",
      "Namespace has no namespace: leave it out",
    ],
    [
      "a reserved label",
      "  - id: a\n    template: { apiVersion: v1, kind: ConfigMap, metadata: { name: a, labels: { kro.run/owned: 'no' } } }",
      "names that begin with kro.run/ are reserved",
    ],
    [
      "a condition that is no truth value",
      config("{}", "    includeWhen: ['${schema.spec.name}']"),
      "spec.resources[0].includeWhen[0]: ${schema.spec.name} must be true or false, and it is of type string",
    ],
    [
      "a condition that is no expression",
      config("{}", "    includeWhen: ['schema.spec.size > 1']"),
      'spec.resources[0].includeWhen[0]: "schema.spec.size > 1" must be one expression: ${…}',
    ],
    [
      "readyWhen that looks at something else",
      config("{}", "    readyWhen: ['${schema.spec.size > 1}']"),
      "readyWhen looks at config alone, and this reads schema",
    ],
    [
      "a loop over no list",
      config("{}", "    forEach: [{ x: '${schema.spec.name}' }]"),
      "${schema.spec.name} must be a list, and it is of type string",
    ],
    [
      "a loop whose objects have one name",
      config("{}", "    forEach: [{ x: '${schema.spec.list}' }]"),
      "the name must depend on x",
    ],
    [
      "a loop variable with the id of a resource",
      config("{}", "    forEach: [{ config: '${schema.spec.list}' }]"),
      "config is the id of a resource already",
    ],
    [
      "a kind inside itself",
      "  - id: a\n    template: { apiVersion: kro.run/v1alpha1, kind: Bad, metadata: { name: a } }",
      "a Bad cannot contain a Bad: it would never end",
    ],
    ["omit() as a part of a string", config("{ a: 'x-${omit()}' }"), "omit() leaves out a whole field"],
    ["neither template nor reference", "  - id: a", "a resource has either a template or an externalRef"],
  ])("%s", async (_what, resources, sentence) => {
    expect(await errorOf(resources)).toContain(sentence);
  });

  test.each([
    [
      "a status without an expression",
      "status: { phase: Running }",
      "spec.schema.status.phase: a field of the status is an expression: ${…}",
    ],
    [
      "a status that reads nothing",
      "status: { phase: '${1 + 1}' }",
      "a field of the status reads a resource or the schema",
    ],
    [
      "a condition that is none",
      "status: { conditions: ['${schema.spec.size}'] }",
      "must be runtime.newCondition(…) or a list of them",
    ],
  ])("%s", async (_what, status, sentence) => {
    expect(await errorOf("    []", `${head}    ${status}\n`)).toContain(sentence);
  });

  test("all mistakes of a definition at once", async () => {
    const message = await errorOf(config("{ a: '${schema.spec.size}', b: '${nobody}' }"));
    expect(message.split("; and ")).toHaveLength(2);
  });
});

test("a refused definition makes nothing, says why, and is taken when it is corrected", async () => {
  const bad = `${head}  resources:${config("{ a: '${schema.spec.size}' }")}`;
  const good = bad.replace("${schema.spec.size}", "${string(schema.spec.size)}");
  await using own = await graphCluster(good);
  await own.client.kind(ResourceGraphDefinition).create(definitions(bad)[0] as never);
  await own.converges({ ready: false });
  const status = await statusOf(own, "bad");
  expect(status.state).toBe("Inactive");
  expect(condition(status, "Ready")).toMatchObject({
    status: "False",
    reason: "InvalidResourceGraph",
    message: expect.stringContaining("it is an integer where a string is needed"),
  });
  const crds = async () =>
    (await own.client.kind(CustomResourceDefinition).list()).items.map(({ metadata }) => metadata.name);
  expect(await crds()).toEqual(["resourcegraphdefinitions.kro.run"]);
  const live = await own.client.kind(ResourceGraphDefinition).get({ name: "bad" });
  await own.client
    .kind(ResourceGraphDefinition)
    .update({ ...live, spec: definitions(good)[0]?.spec } as never);
  await own.converges({ ready: false });
  expect((await statusOf(own, "bad")).state).toBe("Active");
  expect(await crds()).toContain("bads.kro.run");
});
