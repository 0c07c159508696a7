/** Definitions as an OpenAPI document shows them. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { isObject, type JsonSchema } from "../crd/schema.ts";
import { definition, type Schema } from "../tables/index.ts";

export type Version = 2 | 3;

const prefix = { 2: "#/definitions/", 3: "#/components/schemas/" } as const;

export function refTo(name: string, version: Version): JsonObject {
  return { $ref: prefix[version] + name };
}

const patch: JsonObject = { type: "object" };

/** Adds a built-in definition and all it refers to. */
export function collect(name: string, version: Version, into: Record<string, JsonObject>): void {
  if (name in into) return;
  const schema = name.endsWith(".meta.v1.Patch") ? undefined : definition(name);
  if (!schema) {
    into[name] = patch;
    return;
  }
  const refs: string[] = [];
  into[name] = convert(schema, version, refs);
  for (const ref of refs) collect(ref, version, into);
}

function convert(schema: Schema, version: Version, refs: string[]): JsonObject {
  const out: JsonObject = {};
  const { $ref, properties, items, additionalProperties, default: value, format, ...rest } = schema;
  for (const [key, item] of Object.entries(rest)) out[key] = item as JsonValue;
  if ($ref) {
    refs.push($ref);
    if (version === 2) return { ...out, ...refTo($ref, 2) };
    // OpenAPI 3.0 ignores what stands beside a reference.
    if (value === undefined && Object.keys(out).length === 0) return refTo($ref, 3);
    return { ...out, allOf: [refTo($ref, 3)], ...(value !== undefined && { default: value }) };
  }
  if (format === "quantity") {
    if (version === 2) out.type = "string";
    else out.oneOf = [{ type: "string" }, { type: "number" }];
  } else if (format === "int-or-string") {
    out.format = "int-or-string";
    if (version === 2) out.type = "string";
    else out.oneOf = [{ type: "integer" }, { type: "string" }];
    delete out["x-kubernetes-int-or-string"];
  } else if (format) out.format = format;
  if (value !== undefined && version === 3) out.default = value;
  if (items) out.items = convert(items, version, refs);
  if (additionalProperties) out.additionalProperties = convert(additionalProperties, version, refs);
  if (properties) {
    const converted: JsonObject = {};
    for (const [name, property] of Object.entries(properties))
      converted[name] = convert(property, version, refs);
    out.properties = converted;
  }
  return out;
}

/** `stable.example.com/v1 CronTab` is `com.example.stable.v1.CronTab`. */
export function customDefinitionName(group: string, version: string, kind: string): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const listMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly schema: JsonSchema | undefined;
}

/** Adds a custom resource and its list. */
export function collectCustom(custom: CustomKind, version: Version, into: Record<string, JsonObject>): void {
  const { group, version: at, kind, listKind, schema } = custom;
  const name = customDefinitionName(group, at, kind);
  const extension = { "x-kubernetes-group-version-kind": [{ group, kind, version: at }] };
  // Without properties old clients allow anything; with any, they allow nothing else.
  const open = !schema || (version === 2 && schema["x-kubernetes-preserve-unknown-fields"] === true);
  into[name] = open
    ? { type: "object", ...extension }
    : { ...withResourceFields(customSchema(schema, version), version), ...extension };
  into[customDefinitionName(group, at, listKind)] = {
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string" },
      items: { type: "array", items: refTo(name, version) },
      kind: { type: "string" },
      metadata: version === 3 ? { allOf: [refTo(listMeta, 3)] } : refTo(listMeta, 2),
    },
    "x-kubernetes-group-version-kind": [{ group, kind: listKind, version: at }],
  };
  collect(objectMeta, version, into);
  collect(listMeta, version, into);
}

/** What every resource has, embedded ones too. */
function withResourceFields(schema: JsonObject, version: Version): JsonObject {
  const meta = refTo(objectMeta, version);
  return {
    ...schema,
    properties: {
      ...((schema.properties as JsonObject | undefined) ?? {}),
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: version === 3 ? { allOf: [meta] } : meta,
    },
  };
}

function customSchema(schema: JsonSchema, version: Version): JsonObject {
  const copy = { ...(schema as unknown as JsonObject) };
  return version === 3 ? copy : forVersion2(copy);
}

const unspeakable = ["oneOf", "anyOf", "not", "nullable"];

/** Swagger 2.0 has no logic and no null: what it cannot say is left out. */
function forVersion2(schema: JsonObject): JsonObject {
  const out: JsonObject = {};
  // A value that may be null has no type there.
  const nullable = schema.nullable === true;
  for (const [key, value] of Object.entries(schema)) {
    if (unspeakable.includes(key) || key === "default") continue;
    if (nullable && (key === "type" || key === "items" || key === "properties")) continue;
    if (key === "properties" && isObject(value)) {
      const properties: JsonObject = {};
      for (const [name, property] of Object.entries(value))
        properties[name] = forVersion2(property as JsonObject);
      out.properties = properties;
    } else if ((key === "items" || key === "additionalProperties") && isObject(value)) {
      out[key] = forVersion2(value);
    } else if (key === "allOf" && Array.isArray(value)) {
      out.allOf = value.map((item) => forVersion2(item as JsonObject));
    } else out[key] = value;
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) {
    delete out.properties;
    delete out.items;
  }
  return out;
}
