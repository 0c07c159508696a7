/** Fills in the defaults of a schema. In place. */
import { deepCopy, type JsonValue } from "@keelson/core";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

/** A property takes its default when it is absent, or null without being nullable. */
export function applyDefaults(value: JsonValue, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (!items) return;
    for (const [i, item] of value.entries()) {
      if (item === null && items.default !== undefined && !items.nullable) value[i] = deepCopy(items.default);
      applyDefaults(value[i] as JsonValue, items);
    }
    return;
  }
  if (!isObject(value)) return;
  const properties = schema.properties ?? {};
  for (const [key, property] of Object.entries(properties)) {
    if (property.default === undefined) continue;
    const present = Object.hasOwn(value, key) ? value[key] : undefined;
    if (present === undefined || (present === null && !property.nullable))
      value[key] = deepCopy(property.default);
  }
  const additional = additionalSchema(schema);
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (
      !property &&
      additional &&
      value[key] === null &&
      additional.default !== undefined &&
      !additional.nullable
    )
      value[key] = deepCopy(additional.default);
    const sub = property ?? additional;
    if (sub) applyDefaults(value[key] as JsonValue, sub);
  }
}

/** Whether defaulting can change anything at all. */
export function hasDefaults(schema: JsonSchema): boolean {
  if (schema.default !== undefined) return true;
  const items = itemsOf(schema);
  const additional = additionalSchema(schema);
  return (
    (items !== undefined && hasDefaults(items)) ||
    (additional !== undefined && hasDefaults(additional)) ||
    Object.values(schema.properties ?? {}).some(hasDefaults)
  );
}
