/** Merges two changes of one JSON document, field by field: neighbours that both sides added do not collide. */
import { deepEqual, type JsonObject, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";

/** A merged document; at each path of a conflict our value stands. */
export interface MergedJson {
  readonly value: JsonValue | undefined;
  /** `dependencies.keelson` */
  readonly conflicts: readonly string[];
}

type Maybe = JsonValue | undefined;

export function mergeJson(base: Maybe, ours: Maybe, theirs: Maybe, path = ""): MergedJson {
  if (deepEqual(ours, theirs) || deepEqual(base, theirs)) return { value: ours, conflicts: [] };
  if (deepEqual(base, ours)) return { value: theirs, conflicts: [] };
  if (!isObject(ours) || !isObject(theirs)) return { value: ours, conflicts: [path] };
  const old: JsonObject = isObject(base) ? base : {};
  const merged: JsonObject = {};
  const conflicts: string[] = [];
  for (const name of namesOf(ours, theirs)) {
    const field = mergeJson(old[name], ours[name], theirs[name], path === "" ? name : `${path}.${name}`);
    if (field.value !== undefined) merged[name] = field.value;
    conflicts.push(...field.conflicts);
  }
  return { value: merged, conflicts };
}

/** In our order; what only they have comes behind its neighbour of theirs. */
function namesOf(ours: JsonObject, theirs: JsonObject): string[] {
  const names = Object.keys(ours);
  let before = -1;
  for (const name of Object.keys(theirs)) {
    const at = names.indexOf(name);
    if (at < 0) names.splice(++before, 0, name);
    else before = at;
  }
  return names;
}
