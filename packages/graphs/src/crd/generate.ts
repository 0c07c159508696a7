/** The CustomResourceDefinition of a graph's instances. */
import type { CrdVersion, CustomResourceDefinitionObject, StructuralSchema } from "@keelson/schema";
import { type DefinitionSchema, defaultGroup } from "../api/definition.ts";
import { pluralOf } from "./plural.ts";

const string: StructuralSchema = { type: "string" };

const conditions: StructuralSchema = {
  type: "array",
  items: {
    type: "object",
    properties: {
      type: string,
      status: string,
      reason: string,
      message: string,
      lastTransitionTime: string,
      observedGeneration: { type: "integer" },
    },
  },
};

const columns: NonNullable<CrdVersion["additionalPrinterColumns"]> = [
  {
    name: "State",
    description: "The state of a ResourceGraphDefinition instance",
    type: "string",
    jsonPath: ".status.state",
  },
  {
    name: "Ready",
    description: "Whether a ResourceGraphDefinition instance is ready",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  },
  { name: "Age", description: "Age of the resource", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** Without the labels that say whose it is. */
export function instanceCrd(
  definition: DefinitionSchema,
  spec: StructuralSchema,
  status: StructuralSchema,
): CustomResourceDefinitionObject {
  const { kind, apiVersion, group = defaultGroup, scope = "Namespaced", metadata = {} } = definition;
  const plural = pluralOf(kind);
  const { additionalPrinterColumns = [], shortNames = [], categories = [] } = definition;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      ...(metadata.labels ? { labels: { ...metadata.labels } } : {}),
      ...(metadata.annotations ? { annotations: { ...metadata.annotations } } : {}),
    },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
        ...(categories.length > 0 ? { categories: [...categories] } : {}),
      },
      versions: [
        {
          name: apiVersion,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: additionalPrinterColumns.length > 0 ? additionalPrinterColumns : columns,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                apiVersion: string,
                kind: string,
                metadata: { type: "object" },
                spec: withoutEmpty(spec),
                status: withoutEmpty({
                  ...status,
                  properties: { state: string, conditions, ...status.properties },
                }),
              },
            },
          },
        },
      ],
    },
  };
}

/** The server keeps no empty lists of fields: what is written is what is read. */
function withoutEmpty(schema: StructuralSchema): StructuralSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  const fields = Object.entries(properties ?? {}).map(([name, each]) => [name, withoutEmpty(each)] as const);
  return {
    ...rest,
    ...(fields.length > 0 ? { properties: Object.fromEntries(fields) } : {}),
    ...(items ? { items: withoutEmpty(items) } : {}),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: withoutEmpty(additionalProperties) }
      : additionalProperties === undefined
        ? {}
        : { additionalProperties }),
  };
}
