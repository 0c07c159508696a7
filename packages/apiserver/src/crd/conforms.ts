/** Whether an object already is what pruning and defaulting would make of it: a look without a copy. */
import type { JsonValue } from "@keelson/core";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

const typeMeta = new Set(["apiVersion", "kind", "metadata"]);

/** For schemas without embedded resources, whose metadata has rules of its own. */
export function conforms(value: JsonValue, schema: JsonSchema, prunes: boolean, isResource = true): boolean {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items)
      return value.every((item) =>
        item === null
          ? items.default === undefined || items.nullable === true
          : conforms(item, items, prunes, false),
      );
    return !prunes || schema["x-kubernetes-preserve-unknown-fields"] === true || value.every(isPlain);
  }
  if (!isObject(value)) return true;
  const properties = schema.properties ?? {};
  const additional = additionalSchema(schema);
  const keepsUnknown =
    !prunes ||
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema.additionalProperties === true;
  for (const key in properties)
    if (properties[key]?.default !== undefined && !Object.hasOwn(value, key)) return false;
  for (const key in value) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const sub = property ?? additional;
    const item = value[key] as JsonValue;
    const own = isResource && typeMeta.has(key);
    if (!sub) {
      if (keepsUnknown || own) continue;
      return false;
    }
    if (item === null) {
      if (!sub.nullable) return false;
    } else if (typeof item === "object" && !conforms(item, sub, prunes && !own, false)) return false;
  }
  return true;
}

/** Where the schema says nothing of a list's items, their fields are pruned. */
function isPlain(item: JsonValue): boolean {
  return typeof item !== "object" || item === null;
}
