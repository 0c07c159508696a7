/** JSON merge patch (RFC 7386) as the API server applies it. */
import { isObject } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { setKey } from "../set-key.ts";
import { MergeError } from "./errors.ts";

/**
 * The document with the patch merged in: objects merge, null removes, everything else replaces.
 *
 * One deviation from the RFC is the API server's: nulls are also dropped from objects inside lists.
 * Neither input is changed; unchanged parts are shared. Throws a {@link MergeError} `BadPatch` unless the
 * patch is an object.
 */
export function applyMergePatch(document: JsonObject, patch: JsonValue): JsonObject {
  if (patch === null) throw new MergeError("BadPatch", "Invalid JSON Patch");
  if (!isObject(patch)) {
    const what = Array.isArray(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch;
    throw new MergeError(
      "BadPatch",
      `error decoding patch: json: cannot unmarshal ${what} into Go value of type map[string]interface {}`,
    );
  }
  return mergeObjects(document, patch);
}

function mergeObjects(document: JsonObject, patch: JsonObject): JsonObject {
  const out: JsonObject = { ...document };
  for (const key in patch) {
    const change = patch[key] as JsonValue;
    if (change === null) {
      delete out[key];
      continue;
    }
    const current = Object.hasOwn(out, key) ? out[key] : undefined;
    if (isObject(current) && isObject(change)) setKey(out, key, mergeObjects(current, change));
    // A list over an object is taken as it is; over anything else its nulls go.
    else if (isObject(current)) setKey(out, key, change);
    else setKey(out, key, withoutNulls(change));
  }
  return out;
}

function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key in value) {
    const item = value[key] as JsonValue;
    if (item !== null) setKey(out, key, withoutNulls(item));
  }
  return out;
}
