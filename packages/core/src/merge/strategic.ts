/** Strategic merge patch: a merge patch whose lists merge by key, with directives for the rest. */
import { deepEqual, isObject } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { setKey } from "../set-key.ts";
import { MergeError } from "./errors.ts";
import { plain } from "./go-format.ts";
import type { Field, TypeRef } from "./schema.ts";
import {
  deduplicated,
  elementKind,
  keyOf,
  ordered,
  sameKind,
  splitByPresence,
  withoutItems,
} from "./strategic-lists.ts";

const directive = "$patch";
const retainKeys = "$retainKeys";
const deleteFrom = "$deleteFromPrimitiveList";
const setOrder = "$setElementOrder";

function bad(message: string): never {
  throw new MergeError("BadPatch", message);
}

function unusable(message: string): never {
  throw new MergeError("PatchUnusable", message);
}

/**
 * The object with the patch merged in. Objects merge, null removes; a list merges by the merge key its
 * type names, or is replaced. Directives: `$patch: replace|delete`, `$retainKeys`,
 * `$deleteFromPrimitiveList/field`, `$setElementOrder/field`.
 *
 * Neither input is changed. Throws a {@link MergeError}: `BadPatch` (400), `PatchFailed` (422) or
 * `PatchUnusable` (500), as the API server answers.
 */
export function applyStrategicPatch(object: JsonObject, patch: JsonObject, type: TypeRef): JsonObject {
  return mergeObjects(object, patch, type);
}

function mergeObjects(original: JsonObject, patch: JsonObject, type: TypeRef | undefined): JsonObject {
  const how = patch[directive];
  if (how !== undefined) {
    if (how === "delete") return {};
    if (how !== "replace") return unusable(`unknown patch type: ${plain(how)} in map: ${plain(patch)}`);
    const { [directive]: _dropped, ...rest } = patch;
    return rest;
  }
  const out = retained(original, patch);
  const done = new Set<string>([retainKeys]);
  for (const key in patch) {
    if (!key.startsWith(setOrder)) continue;
    done.add(key);
    const field = fieldAfter(key, setOrder, "invalid patch format of setElementOrder list");
    if (mergeInOrder(out, patch, field, patch[key] as JsonValue, type)) done.add(field);
  }
  for (const key in patch) if (!done.has(key)) mergeKey(out, key, patch[key] as JsonValue, type);
  return out;
}

function fieldAfter(key: string, prefix: string, message: string): string {
  const slash = key.indexOf("/");
  return slash >= 0 && key.slice(0, slash) === prefix ? key.slice(slash + 1) : bad(message);
}

/** A copy of the original with only the keys that `$retainKeys` lists; a full copy without it. */
function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const list = patch[retainKeys];
  if (list === undefined) return { ...original };
  const message = "invalid patch format of retainKeys";
  if (!Array.isArray(list)) return bad(message);
  const keep = new Set(list);
  for (const key in patch) {
    if (key === retainKeys || patch[key] === null) continue;
    if (key.startsWith(deleteFrom) || key.startsWith(setOrder)) continue;
    if (!keep.has(key)) bad(message);
  }
  const out: JsonObject = {};
  for (const key in original) if (keep.has(key)) setKey(out, key, original[key]);
  return out;
}

function mergeKey(out: JsonObject, name: string, change: JsonValue, type: TypeRef | undefined): void {
  const deleting = name.startsWith(deleteFrom);
  const key = deleting ? fieldAfter(name, deleteFrom, "invalid patch format of primitive list") : name;
  if (change === null) {
    delete out[key];
    return;
  }
  const current = Object.hasOwn(out, key) ? (out[key] as JsonValue) : undefined;
  if (current === undefined || !sameKind(current, change)) {
    if (!deleting) put(out, key, withoutDirectives(withoutNulls(change)));
  } else if (isObject(current)) {
    const field = lookUp(type, key);
    const merged =
      strategyOf(field) === "replace"
        ? (change as JsonObject)
        : mergeObjects(current, change as JsonObject, field.type);
    setKey(out, key, merged);
  } else if (Array.isArray(current)) {
    setKey(out, key, mergeListField(current, change as JsonValue[], lookUp(type, key), deleting));
  } else {
    setKey(out, key, change);
  }
}

function put(out: JsonObject, key: string, value: JsonValue | undefined): void {
  if (value === undefined) delete out[key];
  else setKey(out, key, value);
}

function kindName(type: TypeRef | undefined): string {
  const atom = type?.atom;
  if (atom?.map) return atom.map.fields.size > 0 ? "struct" : "map";
  return atom?.list ? "slice" : "struct";
}

function lookUp(type: TypeRef | undefined, key: string): Field {
  const map = type?.atom.map;
  if (map === undefined || (map.fields.size === 0 && map.element !== undefined)) {
    return unusable(`merging an object in json but data type is not struct, instead is: ${kindName(type)}`);
  }
  const field = map.fields.get(key);
  if (field !== undefined) return field;
  const name = type?.name?.slice(type.name.lastIndexOf(".") + 1) ?? "";
  return unusable(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`);
}

/** The strategy beside `retainKeys`, which only concerns those who make patches. */
function strategyOf(field: Field): string {
  const strategies = field.patchStrategies ?? [];
  const others = strategies.filter((strategy) => strategy !== "retainKeys");
  if (others.length > 1 || strategies.length > 2) {
    return unusable(`unexpected patch strategy: [${strategies.join(" ")}]`);
  }
  return others[0] ?? "";
}

function mergeListField(
  current: JsonValue[],
  change: JsonValue[],
  field: Field,
  deleting: boolean,
): JsonValue[] {
  if (strategyOf(field) !== "merge" && !deleting) return change;
  return mergeLists(current, change, field, deleting);
}

function mergeLists(original: JsonValue[], patch: JsonValue[], field: Field, deleting: boolean): JsonValue[] {
  if (original.length === 0 && patch.length === 0) return original;
  const key = field.patchMergeKey ?? "";
  if (elementKind(original, patch) !== "map") {
    if (deleting) return withoutItems(original, patch);
    const merged = deduplicated([...original, ...patch]);
    // A merge key on scalars leaves nothing to compare by; the type never says so.
    const [mine, theirs] = splitByPresence(merged, patch, "");
    return ordered(mine, theirs, patch, original, "");
  }
  if (key === "") return unusable("cannot merge lists without merge key for struct");
  const base = applySpecialItems(original as JsonObject[], patch as JsonObject[], key);
  const merged = mergeItems(base.original, base.patch, key, field.type.atom.list?.element);
  const [mine, theirs] = splitByPresence(merged, base.patch, key);
  return ordered(mine, theirs, base.patch, base.original, key);
}

/** Carries out `$patch: delete` and `$patch: replace` items, and returns what is left to merge. */
function applySpecialItems(
  original: JsonObject[],
  patch: JsonObject[],
  key: string,
): { original: JsonObject[]; patch: JsonObject[] } {
  const rest: JsonObject[] = [];
  let left = original;
  let replace = false;
  for (const item of patch) {
    const how = item[directive];
    if (how === undefined) rest.push(item);
    else if (how === "delete") {
      const value = keyOf(item, key);
      left = left.filter((candidate) => !deepEqual(candidate[key], value));
    } else if (how === "replace") replace = true;
    else if (how === "merge") unusable("merging lists cannot yet be specified in the patch");
    else unusable(`unknown patch type: ${plain(how)} in map: ${plain(item)}`);
  }
  return replace ? { original: rest, patch: [] } : { original: left, patch: rest };
}

function mergeItems(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  key: string,
  type: TypeRef | undefined,
): JsonObject[] {
  const out = [...original];
  for (const item of patch) {
    const value = keyOf(item, key);
    const at = out.findIndex((candidate) => candidate[key] !== undefined && deepEqual(candidate[key], value));
    if (at < 0) out.push(item);
    else out[at] = mergeObjects(out[at] as JsonObject, item, type);
  }
  return out;
}

/** Merges a list together with its `$setElementOrder`; returns whether the list's own patch is done with. */
function mergeInOrder(
  out: JsonObject,
  patch: JsonObject,
  key: string,
  order: JsonValue,
  type: TypeRef | undefined,
): boolean {
  if (!Array.isArray(order)) return unusable(wrongType("[]interface {}", order));
  const current = Object.hasOwn(out, key) ? out[key] : undefined;
  const change = Object.hasOwn(patch, key) ? patch[key] : undefined;
  if (current !== undefined && !Array.isArray(current)) return unusable(wrongType("[]interface {}", current));
  if (change !== undefined && !Array.isArray(change)) return unusable(wrongType("[]interface {}", change));
  const field = lookUp(type, key);
  const strategy = strategyOf(field);
  const mergeBy = field.patchMergeKey ?? "";
  checkOrder(change ?? [], order, mergeBy);
  let merged: JsonValue[];
  if (current !== undefined && change !== undefined) {
    merged = strategy === "merge" ? mergeLists(current, change, field, false) : change;
  } else if (change !== undefined) {
    merged = withoutDirectives(change) as JsonValue[];
  } else if (current !== undefined) {
    merged = current;
  } else {
    return false;
  }
  elementKind(current ?? [], change ?? []);
  const [mine, theirs] = splitByPresence(merged, order, mergeBy);
  const live =
    current !== undefined && change !== undefined ? reusedPlaces(current, change, mergeBy) : current;
  setKey(out, key, ordered(mine, theirs, order, live ?? [], mergeBy));
  return true;
}

function wrongType(expected: string, value: JsonValue | undefined): string {
  const actual = isObject(value) ? "map[string]interface {}" : value === null ? "%!s(<nil>)" : typeof value;
  return `expected a ${expected}, but received a ${actual}`;
}

/**
 * The live order as the API server sees it after its merge worked in place: where the patch deletes items,
 * those behind move up, and new items take the places that became free.
 */
function reusedPlaces(current: JsonValue[], change: JsonValue[], mergeBy: string): JsonValue[] {
  if (mergeBy === "") return current;
  const places = [...current] as JsonObject[];
  let used = places.length;
  for (const item of change as JsonObject[]) {
    if (item[directive] !== "delete") continue;
    for (let at = 0; at < used; at++) {
      if (!deepEqual(places[at]?.[mergeBy], item[mergeBy])) continue;
      places.copyWithin(at, at + 1, used);
      used--;
      at--;
    }
  }
  if (change.some((item) => (item as JsonObject)[directive] === "replace")) return places;
  for (const item of change as JsonObject[]) {
    if (used >= places.length) break;
    if (item[directive] !== undefined) continue;
    const known = places.slice(0, used).some((place) => deepEqual(place[mergeBy], item[mergeBy]));
    if (!known) places[used++] = item;
  }
  return places;
}

/** The patch list must follow the order list, deletions aside. */
function checkOrder(patch: readonly JsonValue[], order: readonly JsonValue[], mergeBy: string): void {
  if (order.length === 0 || patch.length === 0) return;
  const items =
    mergeBy === "" ? patch : patch.filter((item) => !(isObject(item) && item[directive] === "delete"));
  let p = 0;
  let o = 0;
  while (p < items.length && o < order.length) {
    const item = items[p] as JsonValue;
    if (isObject(item) && item[directive] !== undefined) {
      p++;
      continue;
    }
    if (deepEqual(keyOf(item, mergeBy), keyOf(order[o] as JsonValue, mergeBy))) p++;
    o++;
  }
  if (p < items.length && o >= order.length) {
    unusable(
      `The order in patch list:\n${plain([...patch])}\n doesn't match ${setOrder} list:\n${plain([...order])}\n`,
    );
  }
}

/** Nulls in a new value mean nothing: they go, except as items of lists. */
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

/** A new value without the objects that carry a directive; undefined when it is one itself. */
function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) {
    const out: JsonValue[] = [];
    for (const item of value) {
      const kept = withoutDirectives(item);
      if (kept !== undefined) out.push(kept);
    }
    return out;
  }
  if (!isObject(value)) return value;
  if (value[directive] !== undefined) return undefined;
  const out: JsonObject = {};
  for (const key in value) {
    const kept = withoutDirectives(value[key] as JsonValue);
    if (kept !== undefined) setKey(out, key, kept);
  }
  return out;
}
