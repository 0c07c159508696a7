/** The merge patch that turns one object into another; undefined when they are the same. */
import { deepEqual, type JsonObject, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";

/** Lists are replaced whole, as a merge patch does. */
export function mergePatch(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) patch[name] = null;
  for (const [name, value] of Object.entries(to)) {
    const change = changeOf(from[name], value as JsonValue);
    if (change !== undefined) patch[name] = change;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function changeOf(before: JsonValue | undefined, after: JsonValue): JsonValue | undefined {
  if (deepEqual(before, after)) return undefined;
  if (isObject(before) && isObject(after)) return mergePatch(before as JsonObject, after as JsonObject);
  return after;
}
