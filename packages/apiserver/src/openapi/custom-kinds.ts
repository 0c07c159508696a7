/** Custom resources as OpenAPI documents show them: their operations and definitions. */
import type { JsonObject } from "@keelson/core";
import { isObject, type JsonSchema } from "../crd/schema.ts";
import { type ApiResource, type ApiVersion, apiVersionText } from "../registry/api-resource.ts";
import { type CustomKinds, commonDescription, operationsOfCustom } from "../tables/index.ts";

/** A served version of a custom resource. */
export interface CustomVersion {
  readonly resource: ApiResource;
  readonly version: ApiVersion;
}

export type DocumentVersion = 2 | 3;

/** What a document of this version of OpenAPI says of the custom resources. */
export function customKinds(served: readonly CustomVersion[], document: DocumentVersion): CustomKinds {
  return {
    operations: served.flatMap(operations),
    definitions: Object.assign({}, ...served.map((each) => definitions(each, document))),
  };
}

function operations({ resource, version }: CustomVersion): CustomKinds["operations"] {
  const { group, kind, listKind } = resource;
  const described = {
    group,
    version: version.name,
    groupVersion: apiVersionText(resource, version.name),
    name: resource.resource,
    singular: resource.singular,
    kind,
    namespaced: resource.namespaced,
    verbs: version.verbs,
    shortNames: resource.shortNames,
    categories: resource.categories,
    subresources: [...version.subresources.values()],
    storageVersionHash: version.storageVersionHash,
    storageVersion: resource.storageVersion,
    definition: definitionName(group, version.name, kind),
    deleteReturnsObject: false,
  };
  return operationsOfCustom(described, definitionName(group, version.name, listKind));
}

/** `stable.example.com/v1 CronTab` is `com.example.stable.v1.CronTab`. */
function definitionName(group: string, version: string, kind: string): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

/** The kind and its list. */
function definitions({ resource, version }: CustomVersion, document: DocumentVersion): JsonObject {
  const { group, kind, listKind } = resource;
  const schema = resource.type.schema?.(version.name) as (JsonSchema & JsonObject) | undefined;
  const extension = (name: string) => ({
    "x-kubernetes-group-version-kind": [{ group, kind: name, version: version.name }],
  });
  const name = definitionName(group, version.name, kind);
  // Without properties old clients allow anything; with any, they allow nothing else.
  const isOpen = !schema || (document === 2 && schema["x-kubernetes-preserve-unknown-fields"] === true);
  const own = isOpen ? { type: "object" } : asResource(published(schema, document), document);
  return {
    [name]: { ...own, ...extension(kind) },
    [definitionName(group, version.name, listKind)]: {
      description: `${listKind} is a list of ${kind}`,
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { type: "string" },
        items: {
          description: `List of ${resource.resource}.`,
          type: "array",
          items: { $ref: `${references[document]}${name}` },
        },
        kind: { type: "string" },
        metadata: reference("ListMeta", document),
      },
      ...extension(listKind),
    },
  };
}

const references = { 2: "#/definitions/", 3: "#/components/schemas/" } as const;

function reference(kind: string, document: DocumentVersion): JsonObject {
  const target = { $ref: `${references[document]}io.k8s.apimachinery.pkg.apis.meta.v1.${kind}` };
  // OpenAPI 3.0 ignores what stands beside a reference.
  return document === 3 ? { allOf: [target] } : target;
}

/** With what every resource has. */
function asResource(schema: JsonObject, document: DocumentVersion): JsonObject {
  return {
    ...schema,
    properties: {
      ...((schema.properties as JsonObject | undefined) ?? {}),
      apiVersion: { type: "string", description: commonDescription("apiVersion") },
      kind: { type: "string", description: commonDescription("kind") },
      metadata: { ...reference("ObjectMeta", document), description: commonDescription("metadata") },
    },
  };
}

/** What OpenAPI 2.0 cannot say is left out: it has no logic and no null. */
const unspeakable = new Set(["allOf", "oneOf", "anyOf", "not", "nullable", "default"]);

const intOrString: readonly JsonObject[] = [{ type: "integer" }, { type: "string" }];

function published(schema: JsonObject, document: DocumentVersion): JsonObject {
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  // A value that may be null, or have fields that nobody knows, has no type in version 2.
  const isUntyped = document === 2 && (isOpen || schema.nullable === true);
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (document === 2 && unspeakable.has(key)) continue;
    if (isUntyped && (key === "type" || key === "items" || key === "properties")) continue;
    if (key === "properties" && isObject(value)) {
      const fields: JsonObject = {};
      for (const [name, field] of Object.entries(value))
        fields[name] = published(field as JsonObject, document);
      out.properties = fields;
    } else if ((key === "items" || key === "additionalProperties") && isObject(value)) {
      out[key] = published(value, document);
    } else out[key] = value;
  }
  if (document === 3 && schema["x-kubernetes-int-or-string"] === true) out.anyOf ??= [...intOrString];
  if (isUntyped || schema["x-kubernetes-embedded-resource"] !== true) return out;
  const required = new Set([...((schema.required as string[] | undefined) ?? []), "kind", "apiVersion"]);
  return { ...asResource(out, document), required: [...required] };
}
