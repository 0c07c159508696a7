/** Drops what a schema does not know, and null where it may not be. In place. */
import type { JsonValue } from "@keelson/core";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

const typeMeta = new Set(["apiVersion", "kind", "metadata"]);

/** Removes unknown fields and names them in `dropped`, as `spec.list[0].junk`. */
export function prune(value: JsonValue, schema: JsonSchema, isResource: boolean, dropped: string[]): void {
  pruneValue(value, schema, isResource, "", dropped);
}

function pruneValue(
  value: JsonValue,
  schema: JsonSchema,
  isResource: boolean,
  path: string,
  dropped: string[],
): void {
  const resource = isResource || schema["x-kubernetes-embedded-resource"] === true;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items)
      for (const [i, item] of value.entries()) pruneValue(item, items, false, `${path}[${i}]`, dropped);
    else if (!schema["x-kubernetes-preserve-unknown-fields"])
      for (const [i, item] of value.entries()) pruneValue(item, {}, false, `${path}[${i}]`, dropped);
    return;
  }
  if (!isObject(value)) return;
  const properties = schema.properties ?? {};
  const additional = additionalSchema(schema);
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  for (const key of Object.keys(value)) {
    // Metadata of resources has its own rules; the schema cannot take any of it away.
    if (resource && typeMeta.has(key)) continue;
    const at = path ? `${path}.${key}` : key;
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const sub = property ?? additional;
    if (sub) pruneValue(value[key] as JsonValue, sub, false, at, dropped);
    else if (!preserves && schema.additionalProperties !== true) {
      delete value[key];
      dropped.push(at);
    }
  }
}

/** Removes nulls that neither the schema allows nor a default replaces. */
export function pruneNulls(value: JsonValue, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const item of value) pruneNulls(item, items);
    return;
  }
  if (!isObject(value)) return;
  const properties = schema.properties ?? {};
  const additional = additionalSchema(schema);
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : additional;
    if (!property) continue;
    const item = value[key] as JsonValue;
    if (item === null) {
      if (!property.nullable && property.default === undefined) delete value[key];
    } else pruneNulls(item, property);
  }
}
