/** The JSON patch that leads from one value to another. */
import { deepEqual, type JsonObject, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";

/** An operation of a JSON patch (RFC 6902). */
export type DiffOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: JsonValue }
  | { readonly op: "remove"; readonly path: string };

/** Field by field; a list of another length is replaced as a whole. */
export function jsonDiff(before: JsonValue, after: JsonValue, path = ""): DiffOperation[] {
  if (deepEqual(before, after)) return [];
  if (isObject(before) && isObject(after)) return objectDiff(before, after, path);
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) => jsonDiff(item, after[index] as JsonValue, `${path}/${index}`));
  }
  return [{ op: "replace", path, value: after }];
}

function objectDiff(before: JsonObject, after: JsonObject, path: string): DiffOperation[] {
  const out: DiffOperation[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const at = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const [old, now] = [own(before, key), own(after, key)];
    if (now === undefined) {
      if (old !== undefined) out.push({ op: "remove", path: at });
    } else if (old === undefined) out.push({ op: "add", path: at, value: now });
    else out.push(...jsonDiff(old, now, at));
  }
  return out;
}

/** What an object has itself: `valueOf` may be the name of a label. */
function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
