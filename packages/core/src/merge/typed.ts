/** Values with their types: which form of a type a value takes, and how items of lists are named. */
import { compareBytes, isRawNumber } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { type PathElement, scalarText, valueElement } from "./path.ts";
import type { Atom, ListType, MapType, Scalar } from "./schema.ts";

/** A value as a type sees it: absent values are `undefined`, `null` is a value. */
export type Value = JsonValue | undefined;

export function isMap(value: Value): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

export function isScalar(value: Value): boolean {
  return value !== undefined && value !== null && (typeof value !== "object" || isRawNumber(value));
}

/** The one form of the type that the value takes; all forms when it takes none, or is null or absent. */
export function deduceAtom(atom: Atom, value: Value): Atom {
  if (value === undefined || value === null) return atom;
  if (Array.isArray(value)) {
    if (atom.list === undefined) return atom;
    return atom.map === undefined && atom.scalar === undefined ? atom : listOnly(atom);
  }
  if (typeof value === "object" && !isRawNumber(value)) {
    if (atom.map === undefined) return atom;
    return atom.list === undefined && atom.scalar === undefined ? atom : mapOnly(atom);
  }
  if (atom.scalar === undefined) return atom;
  return atom.list === undefined && atom.map === undefined ? atom : scalarOnly(atom);
}

interface Narrow {
  list?: Atom;
  map?: Atom;
  scalar?: Atom;
}
const narrowed = new WeakMap<Atom, Narrow>();

function narrowOf(atom: Atom): Narrow {
  let narrow = narrowed.get(atom);
  if (narrow === undefined) {
    narrow = {};
    narrowed.set(atom, narrow);
  }
  return narrow;
}

/** Narrowed atoms are kept, so that two values of one form get the very same atom. */
function listOnly(atom: Atom): Atom {
  const narrow = narrowOf(atom);
  narrow.list ??= { list: atom.list as ListType };
  return narrow.list;
}
function mapOnly(atom: Atom): Atom {
  const narrow = narrowOf(atom);
  narrow.map ??= { map: atom.map as MapType };
  return narrow.map;
}
function scalarOnly(atom: Atom): Atom {
  const narrow = narrowOf(atom);
  narrow.scalar ??= { scalar: atom.scalar as Scalar };
  return narrow.scalar;
}

/** Which of the forms decides when several are open: maps before scalars before lists. */
export function formOf(atom: Atom): "map" | "scalar" | "list" | "none" {
  return atom.map ? "map" : atom.scalar ? "scalar" : atom.list ? "list" : "none";
}

/** The element that names an item of a set or keyed list; throws when the item cannot be one. */
export function itemElement(list: ListType, item: JsonValue): PathElement {
  return itemElementIfAny(list, item) ?? refuseItem(list, item);
}

/** Elements of lists by the list itself; for as long as the lists do not change. */
export type ElementMemo = Map<readonly JsonValue[], readonly PathElement[]>;

const known = new WeakMap<
  readonly JsonValue[],
  { readonly list: ListType; readonly elements: PathElement[] }
>();

/** The elements of all items; remembered for a frozen list, taken from the memo where it has them. */
export function itemElements(
  list: ListType,
  items: readonly JsonValue[],
  memo?: ElementMemo,
): readonly PathElement[] {
  const noted = memo?.get(items);
  if (noted !== undefined) return noted;
  const found = known.get(items);
  if (found !== undefined && found.list === list) return found.elements;
  const elements = items.map((item) => itemElement(list, item));
  if (Object.isFrozen(items)) known.set(items, { list, elements });
  return elements;
}

/** The keys of a list in the order in which elements name them. */
interface KeyPart {
  readonly name: string;
  readonly text: string;
  /** Of the key's field, for items that leave it out. */
  readonly otherwise: Value;
}

const keyParts = new WeakMap<ListType, readonly KeyPart[]>();

function keyPartsOf(list: ListType): readonly KeyPart[] {
  let parts = keyParts.get(list);
  if (parts === undefined) {
    const fields = list.element.atom.map?.fields;
    parts = [...list.keys].sort(compareBytes).map((name) => ({
      name,
      text: `${JSON.stringify(name)}:`,
      otherwise: fields?.get(name)?.default ?? undefined,
    }));
    keyParts.set(list, parts);
  }
  return parts;
}

/** As {@link itemElement}, but undefined for what cannot be an item: taking fields away may leave such behind. */
export function itemElementIfAny(list: ListType, item: JsonValue): PathElement | undefined {
  if (list.keys.length === 0) return isScalar(item) ? valueElement(item) : undefined;
  if (!isMap(item)) return undefined;
  let element = "";
  for (const { name, text, otherwise } of keyPartsOf(list)) {
    let value: Value = item[name];
    if (value === undefined) {
      if (otherwise === undefined) continue;
      value = otherwise;
    }
    element += element === "" ? `k:{${text}${scalarText(value)}` : `,${text}${scalarText(value)}`;
  }
  return element === "" ? undefined : `${element}}`;
}

function refuseItem(list: ListType, item: JsonValue): never {
  if (list.keys.length === 0) {
    if (item === null)
      throw new Error("associative list without keys has an element that's an explicit null");
    if (Array.isArray(item)) throw new Error("not supported: associative list with lists as elements");
    throw new Error("associative list without keys has an element that's a map type");
  }
  if (item === null) throw new Error("associative list with keys may not have a null element");
  if (!isMap(item)) throw new Error("associative list with keys may not have non-map elements");
  const names = list.keys.map((key) => JSON.stringify(key)).join(" ");
  throw new Error(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

export function isEmptyMap(value: JsonObject): boolean {
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}
