/** Fills in the defaults of a schema, as the server does when it reads an object. */
import { deepCopy, type JsonObject, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { StructuralSchema } from "@keelson/schema";

/** What is there already is shared with the result. Lists of defaults apply from the outside in. */
export function withDefaults(value: JsonValue | undefined, schema: StructuralSchema): JsonValue | undefined {
  const given =
    value === undefined && schema.default !== undefined ? (deepCopy(schema.default) as JsonValue) : value;
  if (Array.isArray(given)) {
    const { items } = schema;
    return items ? given.map((item) => withDefaults(item, items) as JsonValue) : given;
  }
  if (!isObject(given)) return given;
  const out: JsonObject = { ...(given as JsonObject) };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const filled = withDefaults(out[name], property);
    if (filled !== undefined) out[name] = filled;
  }
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object" && !schema.properties) {
    for (const [name, each] of Object.entries(out)) {
      out[name] = withDefaults(each as JsonValue, additionalProperties) as JsonValue;
    }
  }
  return out;
}
