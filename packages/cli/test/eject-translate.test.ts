/** CEL that becomes TypeScript gives the same value, or waits for the same data; what could differ stays CEL. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of definitions stand in plain texts.
import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import { checkDefinitions, clusterFacts } from "@keelson/graphs";
import { expression, Pending } from "@keelson/graphs/expressions";
import { beforeAll, expect, test } from "vitest";
import { specOf } from "../src/eject/graph-nodes.ts";
import { translate, type Variable } from "../src/eject/translate.ts";

const exact = [
  "schema.spec.size + 1",
  "schema.spec.size * 2 - schema.spec.size",
  "schema.spec.size > 2 ? 'many' : 'few'",
  "string(schema.spec.size) + '/' + schema.metadata.name",
  "schema.spec.name",
  "schema.spec.tags",
  "schema.spec.extra",
  "schema.spec.free",
  "schema.spec.extra.a",
  "schema.spec.extra['b-c']",
  "schema.spec.?extra.?a.orValue('none')",
  "schema.spec.cache.enabled || schema.spec.size == 2",
  "has(schema.spec.name)",
  "has(schema.spec.extra.a)",
  "!has(schema.spec.tags)",
  "schema.spec.mode in ['open', 'closed']",
  "size(schema.spec.tags)",
  "schema.spec.tags.size() == 1",
  "schema.spec.tags[0]",
  "{'a': schema.spec.mode, 'b': 'c'}",
  "[schema.spec.mode, schema.metadata.name]",
  "deployment.status.readyReplicas",
  "deployment.status.?readyReplicas.orValue(0)",
  "deployment.status.observedGeneration == deployment.metadata.generation",
  "deployment.spec.selector.matchLabels",
  "deployment.metadata.labels.app + '`${x}`'",
  "size(pods)",
];

/** Each with why. */
const stays = [
  // One side decides although the other is not there.
  "deployment.status.readyReplicas > 0 || schema.spec.size > 0",
  // Code points and code units.
  "schema.spec.mode < 'p'",
  "size(schema.spec.mode)",
  // Rounding.
  "schema.spec.size / 2",
  "double(schema.spec.size) * 0.5",
  // A date is no text.
  "deployment.metadata.creationTimestamp",
  "schema.spec.mode.upperAscii()",
  "pods.map(each, each.metadata.name)",
];

const definition = {
  metadata: { name: "site" },
  spec: {
    schema: {
      apiVersion: "v1alpha1",
      kind: "Site",
      spec: {
        size: "integer | default=2",
        mode: 'string | default="open"',
        name: "string",
        tags: "[]string",
        extra: "map[string]string",
        cache: { enabled: "boolean | default=false" },
        free: "object",
      },
      status: Object.fromEntries([...exact, ...stays].map((cel, index) => [`f${index}`, `\${${cel}}`])),
    },
    resources: [
      {
        id: "deployment",
        externalRef: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } },
      },
      {
        id: "pods",
        externalRef: { apiVersion: "v1", kind: "Pod", metadata: { selector: { matchLabels: { a: "b" } } } },
      },
    ],
  },
};

/** Worlds in which data is there, partly there, and not there. */
const worlds = [
  {
    schema: {
      metadata: { name: "one", namespace: "default", uid: "u" },
      spec: { size: 2, mode: "open", cache: { enabled: false } },
    },
    deployment: { metadata: { name: "d", uid: "v" } },
    pods: [],
  },
  {
    schema: {
      metadata: { name: "two", namespace: "default", uid: "u" },
      spec: {
        ...{ size: 7, mode: "closed", name: "n", tags: ["t"], free: {} },
        ...{ extra: { a: "x", "b-c": "y" }, cache: { enabled: true } },
      },
    },
    deployment: {
      metadata: { name: "d", uid: "v", generation: 3, labels: { app: "p" } },
      spec: { selector: { matchLabels: { app: "d" } } },
      status: { observedGeneration: 3, readyReplicas: 1 },
    },
    pods: [{ metadata: { name: "p" } }],
  },
  {
    schema: {
      metadata: { name: "three", namespace: "default", uid: "u" },
      spec: { size: 0, mode: "", tags: [], extra: {}, cache: { enabled: false } },
    },
    deployment: { metadata: { name: "d", uid: "v", generation: 4 }, status: {} },
    pods: [{ metadata: { name: "p" } }, { metadata: { name: "q" } }],
  },
];

const translated = new Map<string, string | undefined>();
beforeAll(async () => {
  await using server = await apiServer();
  const facts = clusterFacts(createClient({ http: server.http }));
  const [checked] = await checkDefinitions([definition as never], facts);
  if (!checked?.graph) throw checked?.error;
  const variables = new Map<string, Variable>([
    ["schema", { code: "schema", shape: "instance", spec: specOf(checked.graph) }],
    ["deployment", { code: "deployment", shape: "typed" }],
    ["pods", { code: "pods", shape: "list" }],
  ]);
  for (const field of checked.graph.status) {
    translated.set(field.expression.source, translate(field.expression.program, variables)?.code);
  }
});

const need = (value: unknown, what: string) => {
  if (value === undefined || value === null) throw new Pending(what);
  return value;
};

/** A value, or that data is missing. */
function outcome(value: () => unknown): unknown {
  try {
    return { value: value() };
  } catch (error) {
    if (error instanceof Pending) return "pending";
    throw error;
  }
}

test.each(exact)("%s", (cel) => {
  const code = translated.get(cel);
  expect(code).toBeDefined();
  const asCel = expression(cel, { schema: {}, deployment: {}, pods: {} });
  const run = new Function("schema", "deployment", "pods", "need", "int", `return (${code});`);
  for (const world of worlds) {
    const { schema, deployment, pods } = world;
    const own = outcome(() => run(schema, deployment, pods, need, (value: number) => value));
    expect(own, `${code} in ${JSON.stringify(world)}`).toEqual(outcome(() => asCel(world)));
  }
});

test.each(stays)("%s stays CEL", (cel) => {
  expect(translated.has(cel)).toBe(true);
  expect(translated.get(cel)).toBeUndefined();
});
