/** Values with their types: which form of a type a value takes, its fields, and whether it fits. */
import { isRawNumber } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import { type FieldSet, FieldSetBuilder } from "./field-set.ts";
import { goType, goValue, goValueSyntax } from "./go-format.ts";
import {
  displayElement,
  fieldElement,
  indexElement,
  keyElement,
  type PathElement,
  valueElement,
} from "./path.ts";
import { type Atom, type ListType, type MapType, type Scalar, type TypeRef, typeOfField } from "./schema.ts";

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

/** As {@link itemElement}, but undefined for what cannot be an item: taking fields away may leave such behind. */
export function itemElementIfAny(list: ListType, item: JsonValue): PathElement | undefined {
  if (list.keys.length === 0) return isScalar(item) ? valueElement(item) : undefined;
  if (!isMap(item)) return undefined;
  const keys: Record<string, JsonValue> = {};
  let found = false;
  for (const name of list.keys) {
    const value: Value = item[name] ?? keyDefault(list, name, item);
    if (value === undefined) continue;
    keys[name] = value;
    found = true;
  }
  return found ? keyElement(keys) : undefined;
}

/** A key that is null stays null; only an absent one takes the default of its field. */
function keyDefault(list: ListType, name: string, item: JsonObject): Value {
  if (item[name] === null) return null;
  return list.element.atom.map?.fields.get(name)?.default ?? undefined;
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

/**
 * Stands for what is left of an item whose fields were all taken away: it keeps the list it is in alive.
 * Only sets of half-pruned objects hold it; it is never written.
 */
const namelessItem: PathElement = "?:";

/** Every leaf and every item of a value, as ownership sees it. The value must fit the type. */
export function fieldsOf(value: Value, type: TypeRef): FieldSet {
  const builder = new FieldSetBuilder();
  // The whole object is never a member, so what the root itself asks for is dropped.
  collect(value, type.atom, builder);
  return builder.build();
}

/** Collects below a value; returns whether the value itself is a leaf. */
function collect(value: Value, open: Atom, into: FieldSetBuilder): boolean {
  const atom = deduceAtom(open, value);
  if (atom.map !== undefined) {
    if (atom.map.atomic) return true;
    if (isMap(value)) collectMap(value, atom.map, into);
    return false;
  }
  if (atom.scalar !== undefined) return true;
  if (atom.list !== undefined) {
    if (atom.list.atomic) return true;
    if (Array.isArray(value)) collectList(value, atom.list, into);
  }
  return false;
}

function collectMap(value: JsonObject, map: MapType, into: FieldSetBuilder): void {
  for (const name in value) {
    const item: Value = value[name];
    if (item === undefined) continue;
    const field = map.fields.get(name);
    const type = field?.type ?? map.element;
    const element = fieldElement(name);
    const below = new FieldSetBuilder();
    const leaf = type === undefined ? false : collect(item, type.atom, below);
    into.attach(element, below.build());
    if (leaf || field === undefined || item === null || (isMap(item) && isEmptyMap(item))) into.add(element);
  }
}

function collectList(value: JsonValue[], list: ListType, into: FieldSetBuilder): void {
  const elements = value.map((item) => itemElementIfAny(list, item) ?? namelessItem);
  const count = new Map<PathElement, number>();
  for (const element of elements) count.set(element, (count.get(element) ?? 0) + 1);
  for (let i = 0; i < value.length; i++) {
    const element = elements[i] as PathElement;
    into.add(element);
    // An item that occurs twice is owned as one, without its fields.
    if ((count.get(element) as number) > 1) continue;
    const below = new FieldSetBuilder();
    collect(value[i], list.element.atom, below);
    into.attach(element, below.build());
  }
}

export function isEmptyMap(value: JsonObject): boolean {
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}

interface Problem {
  path: string;
  readonly message: string;
}

/**
 * Throws a {@link MergeError} with the API server's message when a value does not fit its type.
 * Objects in storage may hold duplicates in sets and keyed lists; applied ones may not.
 */
export function checkType(value: Value, type: TypeRef, options: { readonly allowDuplicates: boolean }): void {
  const problems: Problem[] = [];
  check(value, type.atom, "", options.allowDuplicates, problems);
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const first = lines[0] as string;
  throw new MergeError("TypeMismatch", lines.length === 1 ? first : `errors:\n  ${lines.join("\n  ")}`);
}

function check(value: Value, open: Atom, path: string, duplicates: boolean, problems: Problem[]): void {
  const atom = deduceAtom(open, value);
  if (atom.map !== undefined) {
    if (value === null) return;
    if (!isMap(value)) problems.push({ path, message: `expected map, got ${goValue(value)}` });
    else checkMap(value, atom.map, path, duplicates, problems);
  } else if (atom.scalar !== undefined) {
    const message = scalarProblem(value, atom.scalar);
    if (message !== undefined) problems.push({ path, message });
  } else if (atom.list !== undefined) {
    if (value === null) return;
    if (!Array.isArray(value)) problems.push({ path, message: `expected list, got ${goValue(value)}` });
    else checkList(value, atom.list, path, duplicates, problems);
  } else {
    problems.push({ path, message: "schema error: invalid atom: inlined" });
  }
}

function scalarProblem(value: Value, scalar: Scalar): string | undefined {
  if (value === null || value === undefined) return undefined;
  switch (scalar) {
    case "numeric":
      return typeof value === "number" || isRawNumber(value)
        ? undefined
        : `expected numeric (int or float), got ${goType(value)}`;
    case "string":
      return typeof value === "string" ? undefined : `expected string, got ${goValueSyntax(value)}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got ${goValue(value)}`;
    case "untyped":
      return isScalar(value) ? undefined : `expected any scalar, got ${goValue(value)}`;
  }
}

function checkMap(
  value: JsonObject,
  map: MapType,
  path: string,
  duplicates: boolean,
  problems: Problem[],
): void {
  for (const name in value) {
    const item: Value = value[name];
    if (item === undefined) continue;
    const type = typeOfField(map, name);
    if (type === undefined) {
      problems.push({ path: `${path}.${name}`, message: "field not declared in schema" });
      return;
    }
    const atom = type.atom;
    // A scalar that fits needs no path: most of an object is such scalars.
    if (atom.map === undefined && atom.list === undefined && atom.scalar !== undefined) {
      const message = scalarProblem(item, atom.scalar);
      if (message !== undefined) problems.push({ path: `${path}.${name}`, message });
    } else {
      check(item, atom, `${path}.${name}`, duplicates, problems);
    }
  }
}

function checkList(
  value: JsonValue[],
  list: ListType,
  path: string,
  duplicates: boolean,
  problems: Problem[],
): void {
  const seen = new Set<PathElement>();
  for (let i = 0; i < value.length; i++) {
    const item = value[i] as JsonValue;
    let element: PathElement;
    if (list.atomic) {
      element = indexElement(i);
    } else {
      try {
        element = itemElement(list, item);
      } catch (error) {
        problems.push({ path, message: `element ${i}: ${(error as Error).message}` });
        return;
      }
      if (seen.has(element) && !duplicates) {
        problems.push({ path, message: `duplicate entries for key ${displayElement(element)}` });
      }
      seen.add(element);
    }
    const atom = list.element.atom;
    if (atom.map === undefined && atom.list === undefined && atom.scalar !== undefined) {
      const message = scalarProblem(item, atom.scalar);
      if (message !== undefined) problems.push({ path: path + displayElement(element), message });
    } else {
      check(item, atom, path + displayElement(element), duplicates, problems);
    }
  }
}
