/** Lays an applied configuration over a live object, type by type. */
import type { JsonObject, JsonValue } from "../object.ts";
import { setKey } from "../set-key.ts";
import type { PathElement } from "./path.ts";
import { type Atom, type ListType, type MapType, type TypeRef, typeOfField } from "./schema.ts";
import {
  deduceAtom,
  type ElementMemo,
  formOf,
  isEmptyMap,
  isMap,
  itemElements,
  type Value,
} from "./typed.ts";

/**
 * The live value with the configuration laid over it: nothing is removed, leaves of the configuration win,
 * lists keep the live order except where the configuration orders shared items otherwise.
 *
 * Both must fit the type. The result shares what did not change, and is `live` itself when nothing did.
 */
export function mergeTyped(live: Value, config: Value, type: TypeRef): Value {
  return merge(live, config, type.atom, {});
}

/** What a merge found out on its way. */
export interface MergeNotes {
  /** Somewhere the configuration is null or `{}` where the live object has content that stays. */
  hollow?: boolean;
  /** Elements of the configuration's lists, where they are known already. */
  readonly memo?: ElementMemo;
}

/** As {@link mergeTyped}, with notes. */
export function mergeTypedNoting(live: Value, config: Value, type: TypeRef, notes: MergeNotes): Value {
  return merge(live, config, type.atom, notes);
}

function merge(live: Value, config: Value, open: Atom, notes: MergeNotes): Value {
  if (config === undefined) return mergeAs(deduceAtom(open, live), live, config, notes);
  // A value that changed its form counts as replaced: the configuration's form decides alone.
  return mergeAs(deduceAtom(open, config), live, config, notes);
}

function mergeAs(atom: Atom, live: Value, config: Value, notes: MergeNotes): Value {
  switch (formOf(atom)) {
    case "map": {
      const map = atom.map as MapType;
      const left = isMap(live) ? live : undefined;
      const right = isMap(config) ? config : undefined;
      const empty = (left === undefined || isEmptyMap(left)) && (right === undefined || isEmptyMap(right));
      if (map.atomic || empty) return leaf(live, config);
      if (config !== undefined && (right === undefined || isEmptyMap(right))) notes.hollow = true;
      return mergeMaps(map, left, right, notes);
    }
    case "list": {
      const list = atom.list as ListType;
      const left = Array.isArray(live) ? live : undefined;
      const right = Array.isArray(config) ? config : undefined;
      const empty = (left?.length ?? 0) === 0 && (right?.length ?? 0) === 0;
      if (list.atomic || empty) return leaf(live, config);
      if (config === null) notes.hollow = true;
      return mergeLists(list, left ?? [], right ?? [], notes);
    }
    default:
      return leaf(live, config);
  }
}

function leaf(live: Value, config: Value): Value {
  if (config === undefined) return live;
  return live !== undefined && live !== config && sameLeaf(live, config) ? live : config;
}

function sameLeaf(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameLeaf(a[i], b[i])) return false;
    return true;
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) if (!Object.hasOwn(b, key) || !sameLeaf(a[key], b[key])) return false;
  return true;
}

function mergeMaps(
  map: MapType,
  live: JsonObject | undefined,
  config: JsonObject | undefined,
  notes: MergeNotes,
): Value {
  if (config === undefined) return live;
  if (live === undefined) live = {};
  let out: JsonObject | undefined;
  for (const name in config) {
    const right: Value = config[name];
    if (right === undefined) continue;
    const left: Value = Object.hasOwn(live, name) ? live[name] : undefined;
    const type = typeOfField(map, name);
    const merged = type === undefined ? right : merge(left, right, type.atom, notes);
    if (merged === left) continue;
    out ??= { ...live };
    if (merged === undefined) delete out[name];
    else setKey(out, name, merged);
  }
  return out ?? live;
}

/** Items by element. A duplicated item is never merged with anything: it maps to null. */
function indexItems(
  elements: readonly PathElement[],
  values: readonly JsonValue[],
): ReadonlyMap<PathElement, JsonValue> {
  const items = new Map<PathElement, JsonValue>();
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i] as PathElement;
    items.set(element, items.has(element) ? null : (values[i] as JsonValue));
  }
  return items;
}

/** Most applies name the very items that are there, in their order: then they merge in pairs. */
function mergeInPairs(
  list: ListType,
  live: readonly JsonValue[],
  config: readonly JsonValue[],
  notes: MergeNotes,
): Value {
  let out: JsonValue[] | undefined;
  for (let i = 0; i < live.length; i++) {
    const merged = merge(live[i], config[i], list.element.atom, notes);
    if (merged === live[i]) continue;
    out ??= [...live];
    out[i] = merged as JsonValue;
  }
  return out ?? (live as JsonValue[]);
}

function sameElements(a: readonly PathElement[], b: readonly PathElement[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Items of the live list keep their places, with the configuration's new items let in where they stand
 * relative to the shared ones; shared items follow the configuration's order.
 */
function mergeLists(
  list: ListType,
  live: readonly JsonValue[],
  config: readonly JsonValue[],
  notes: MergeNotes,
): Value {
  const leftElements = itemElements(list, live);
  const rightElements = itemElements(list, config, notes.memo);
  // The configuration has no duplicates, so neither has a live list with its elements.
  if (sameElements(leftElements, rightElements)) return mergeInPairs(list, live, config, notes);
  const left = indexItems(leftElements, live);
  const right = indexItems(rightElements, config);
  const shared = rightElements.filter((element) => left.has(element));
  const taken = new Set<PathElement>();
  const out: JsonValue[] = [];
  const push = (value: Value) => {
    if (value !== undefined) out.push(value);
  };
  const takeConfig = (element: PathElement) => {
    taken.add(element);
    push(merge(left.get(element), right.get(element), list.element.atom, notes));
  };
  let nextShared = 0;
  let l = 0;
  let r = 0;
  while (l < live.length || r < config.length) {
    if (l < live.length && r < config.length) {
      const element = leftElements[l] as PathElement;
      if (element === rightElements[r]) {
        takeConfig(element);
        l++;
        r++;
        nextShared++;
        continue;
      }
      if (right.has(element) && nextShared < shared.length && shared[nextShared] !== element) {
        l++;
        continue;
      }
    }
    if (l < live.length) {
      const element = leftElements[l] as PathElement;
      if (!right.has(element)) {
        push(merge(live[l], undefined, list.element.atom, notes));
        l++;
        continue;
      }
      if (taken.has(element)) l++;
    }
    if (r < config.length) {
      const element = rightElements[r] as PathElement;
      takeConfig(element);
      r++;
      if (nextShared < shared.length && shared[nextShared] === element) nextShared++;
    }
  }
  if (out.length === live.length && out.every((item, i) => item === live[i])) return live as JsonValue[];
  return out.length > 0 ? out : undefined;
}
