/** The CustomResourceDefinition of ResourceGraphDefinition. */
import type { CustomResourceDefinitionObject, StructuralSchema } from "@keelson/schema";

const string: StructuralSchema = { type: "string" };
const strings: StructuralSchema = { type: "array", items: string };
const map: StructuralSchema = { type: "object", additionalProperties: string };
const anything: StructuralSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function object(
  properties: Record<string, StructuralSchema>,
  rest: Omit<StructuralSchema, "type" | "properties"> = {},
): StructuralSchema {
  return { type: "object", properties, ...rest };
}

function list(items: StructuralSchema): StructuralSchema {
  return { type: "array", items };
}

/** A field that stays as it was first written. */
function fixed(name: string, rest: StructuralSchema): StructuralSchema {
  return {
    type: "string",
    "x-kubernetes-validations": [{ rule: "self == oldSelf", message: `${name} is immutable` }],
    ...rest,
  };
}

const names: StructuralSchema = {
  type: "array",
  maxItems: 32,
  items: { type: "string", maxLength: 63, pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$" },
  "x-kubernetes-list-type": "set",
};

const column = object(
  {
    description: string,
    format: string,
    jsonPath: string,
    name: string,
    priority: { type: "integer", format: "int32" },
    type: string,
  },
  { required: ["jsonPath", "name", "type"] },
);

const schema = object(
  {
    kind: fixed("kind", {
      pattern: "^[A-Z][a-zA-Z0-9]{0,62}$",
      description: "The kind of the instances.",
    }),
    apiVersion: fixed("apiVersion", {
      pattern: "^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$",
      description: "The version of the instances, without a group.",
    }),
    group: fixed("group", { default: "kro.run", description: "The API group of the instances." }),
    scope: fixed("scope", { default: "Namespaced", enum: ["Namespaced", "Cluster"] }),
    spec: { ...anything, description: "The fields of an instance, in SimpleSchema." },
    types: { ...anything, description: "Types that fields can name, in SimpleSchema." },
    status: { ...anything, description: "Expressions that become the status of an instance." },
    additionalPrinterColumns: list(column),
    shortNames: names,
    categories: names,
    metadata: object({ labels: map, annotations: map }),
  },
  { required: ["apiVersion", "kind", "scope"] },
);

const requirement = object(
  { key: string, operator: string, values: strings },
  { required: ["key", "operator"] },
);

const externalRef = object(
  {
    apiVersion: string,
    kind: string,
    metadata: object(
      {
        name: { type: "string", minLength: 1 },
        namespace: string,
        selector: object({ matchLabels: map, matchExpressions: list(requirement) }),
      },
      {
        "x-kubernetes-validations": [
          {
            rule: "has(self.name) != has(self.selector)",
            message: "exactly one of name or selector must be provided",
          },
        ],
      },
    ),
  },
  { required: ["apiVersion", "kind", "metadata"] },
);

const resource = object(
  {
    id: { ...string, description: "The name under which expressions find the resource." },
    template: { ...anything, description: "The object to make; its strings may hold expressions." },
    externalRef,
    readyWhen: { ...strings, description: "Expressions that all hold when the resource is ready." },
    includeWhen: { ...strings, description: "Expressions that all hold when the resource is to be there." },
    forEach: list({ type: "object", additionalProperties: string, minProperties: 1, maxProperties: 1 }),
  },
  {
    required: ["id"],
    "x-kubernetes-validations": [
      {
        rule: "has(self.template) != has(self.externalRef)",
        message: "exactly one of template or externalRef must be provided",
      },
    ],
  },
);

const condition = object(
  {
    type: string,
    status: string,
    reason: string,
    message: string,
    lastTransitionTime: { type: "string", format: "date-time" },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
  },
  { required: ["status", "type"] },
);

const status = object({
  state: string,
  topologicalOrder: strings,
  conditions: list(condition),
  resources: list(object({ id: string, dependencies: list(object({ id: string })) })),
  lastIssuedRevision: { type: "integer", format: "int64" },
});

/** As kro's users know it: names, columns and immutable fields are the same. */
export function definitionCrd(): CustomResourceDefinitionObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "resourcegraphdefinitions.kro.run" },
    spec: {
      group: "kro.run",
      scope: "Cluster",
      names: {
        kind: "ResourceGraphDefinition",
        listKind: "ResourceGraphDefinitionList",
        plural: "resourcegraphdefinitions",
        singular: "resourcegraphdefinition",
        shortNames: ["rgd"],
      },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "APIVERSION", type: "string", jsonPath: ".spec.schema.apiVersion" },
            { name: "KIND", type: "string", jsonPath: ".spec.schema.kind" },
            { name: "STATE", type: "string", jsonPath: ".status.state" },
            { name: "READY", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
            { name: "TOPOLOGICALORDER", type: "string", jsonPath: ".status.topologicalOrder", priority: 1 },
            { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
          schema: {
            openAPIV3Schema: object({
              apiVersion: string,
              kind: string,
              metadata: { type: "object" },
              spec: object({ schema, resources: list(resource) }, { required: ["schema"] }),
              status,
            }),
          },
        },
      ],
    },
  };
}
