/** Lists that are sets or maps must not hold the same item twice. */
import { canonicalJson, type JsonObject, type JsonValue } from "@keelson/core";
import { duplicateField, type FieldError } from "../contracts/field-error.ts";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

export function validateListTypes(schema: JsonSchema, value: JsonValue, path = ""): FieldError[] {
  const errors: FieldError[] = [];
  if (Array.isArray(value)) {
    errors.push(...duplicates(schema, value, path));
    const items = itemsOf(schema);
    if (items)
      for (const [i, item] of value.entries())
        errors.push(...validateListTypes(items, item, `${path}[${i}]`));
  } else if (isObject(value)) {
    const properties = schema.properties ?? {};
    const additional = additionalSchema(schema);
    for (const key of Object.keys(value)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const sub = property ?? additional;
      if (!sub) continue;
      const at = property ? (path ? `${path}.${key}` : key) : `${path}[${key}]`;
      errors.push(...validateListTypes(sub, value[key] as JsonValue, at));
    }
  }
  return errors;
}

function duplicates(schema: JsonSchema, list: readonly JsonValue[], path: string): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const seen = new Set<string>();
  const reported = new Set<string>();
  const errors: FieldError[] = [];
  for (const [i, item] of list.entries()) {
    const id = type === "set" ? item : keyOf(item, keys);
    if (id === undefined) continue;
    const text = canonicalJson(id);
    if (seen.has(text) && !reported.has(text)) {
      errors.push(duplicateField(`${path}[${i}]`, id));
      reported.add(text);
    }
    seen.add(text);
  }
  return errors;
}

function keyOf(item: JsonValue, keys: readonly string[]): JsonObject | undefined {
  if (!isObject(item)) return undefined;
  const out: JsonObject = {};
  for (const key of keys) {
    const value = item[key];
    if (value !== undefined) out[key] = value;
  }
  return out;
}
