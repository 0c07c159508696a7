/** How strategic merge patch compares, splits and orders the items of lists. */
import { deepEqual, isRawNumber } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import { plain } from "./go-format.ts";

type Kind = "map" | "list" | "string" | "number" | "boolean" | "null";

function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (typeof value === "object") return isRawNumber(value) ? "number" : "map";
  return typeof value as Kind;
}

/** Whether two values are of one type to the API server, which tells whole numbers from others. */
export function sameKind(a: JsonValue, b: JsonValue): boolean {
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return false;
  return kind !== "number" || isWhole(a) === isWhole(b);
}

function isWhole(value: JsonValue): boolean {
  return isRawNumber(value) || Number.isInteger(value);
}

/** The one kind that all items share. Throws when they do not, or when there are none. */
export function elementKind(...lists: readonly (readonly JsonValue[])[]): Kind {
  let first: JsonValue | undefined;
  for (const list of lists) {
    for (const item of list) {
      if (first === undefined) first = item;
      else if (!sameKind(first, item)) {
        const shown = plain(lists.map((each) => [...each]));
        throw new MergeError("PatchUnusable", `list element types are not identical: ${shown}`);
      }
      if (kindOf(first) === "list") {
        throw new MergeError("PatchFailed", "lists of lists are not supported");
      }
    }
  }
  if (first === undefined) {
    throw new MergeError("PatchUnusable", "no elements in any of the given slices");
  }
  return kindOf(first);
}

/** What an item is compared by: its merge key, or itself. */
export function keyOf(item: JsonValue, mergeKey: string): JsonValue {
  if (mergeKey === "") return item;
  const object = item as JsonObject;
  if (kindOf(item) !== "map") {
    throw new MergeError(
      "PatchUnusable",
      `expected a map[string]interface {}, but received a ${typeof item}`,
    );
  }
  const value = object[mergeKey];
  if (value === undefined) {
    throw new MergeError(
      "PatchUnusable",
      `map: ${plain(object)} does not contain declared merge key: ${mergeKey}`,
    );
  }
  return value;
}

function indexIn(list: readonly JsonValue[], item: JsonValue, mergeKey: string): number {
  const wanted = keyOf(item, mergeKey);
  return list.findIndex((candidate) => deepEqual(keyOf(candidate, mergeKey), wanted));
}

/** The items that `other` also has, and the rest. */
export function splitByPresence(
  items: readonly JsonValue[],
  other: readonly JsonValue[],
  mergeKey: string,
): [JsonValue[], JsonValue[]] {
  const present: JsonValue[] = [];
  const absent: JsonValue[] = [];
  for (const item of items) (indexIn(other, item, mergeKey) < 0 ? absent : present).push(item);
  return [present, absent];
}

export function withoutItems(items: readonly JsonValue[], gone: readonly JsonValue[]): JsonValue[] {
  return items.filter((item) => !gone.some((candidate) => deepEqual(candidate, item)));
}

/** Scalars without repetition. The last item takes a repetition's place, as on the API server. */
export function deduplicated(items: readonly JsonValue[]): JsonValue[] {
  const out = [...items];
  for (let i = 0; i < out.length - 1; i++) {
    for (let j = i + 1; j < out.length; j++) {
      if (!deepEqual(out[i], out[j])) continue;
      const last = out.pop() as JsonValue;
      if (j < out.length) out[j] = last;
      j--;
    }
  }
  return out;
}

/**
 * Items of the patch in the patch's order, and the live ones let in between: each before the first patch
 * item that stands after it in the live list.
 */
export function ordered(
  patchItems: readonly JsonValue[],
  liveItems: readonly JsonValue[],
  patchOrder: readonly JsonValue[],
  liveOrder: readonly JsonValue[],
  mergeKey: string,
): JsonValue[] {
  const right = sortedBy(patchItems, patchOrder, mergeKey);
  const left = sortedBy(liveItems, liveOrder, mergeKey);
  const out: JsonValue[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    let takeLeft = r >= right.length;
    if (!takeLeft && l < left.length) {
      const leftAt = indexIn(liveOrder, left[l] as JsonValue, mergeKey);
      const rightAt = indexIn(liveOrder, right[r] as JsonValue, mergeKey);
      takeLeft = leftAt >= 0 && rightAt >= 0 && leftAt < rightAt;
    }
    out.push((takeLeft ? left[l++] : right[r++]) as JsonValue);
  }
  return out;
}

/** Stable; an item that the order does not know moves ahead of what stands before it, a leftover deletion to the end. */
function sortedBy(all: readonly JsonValue[], order: readonly JsonValue[], mergeKey: string): JsonValue[] {
  const deletions = mergeKey === "" ? [] : all.filter((item) => (item as JsonObject).$patch === "delete");
  const out = deletions.length === 0 ? [...all] : all.filter((item) => !deletions.includes(item));
  const places = out.map((item) => indexIn(order, item, mergeKey));
  for (let i = 1; i < out.length; i++) {
    for (let j = i; j > 0; j--) {
      const here = places[j] as number;
      const before = places[j - 1] as number;
      if (here >= 0 && before >= 0 && here >= before) break;
      [out[j - 1], out[j]] = [out[j] as JsonValue, out[j - 1] as JsonValue];
      [places[j - 1], places[j]] = [here, before];
    }
  }
  out.push(...deletions);
  return out;
}
