/**
 * Path elements: how ownership names a child of a value.
 *
 * An element is the very text that stands in `fieldsV1`: `f:name` for a field or map key, `k:{...}` for
 * the item of a keyed list, `v:...` for the item of a set, `i:3` for an index. The text is canonical, so
 * equal elements are equal strings.
 */

import { goQuote } from "../go-quote.ts";
import { compareBytes, isRawNumber, parseJson } from "../json.ts";
import { lookupTable } from "../lookup-table.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";

/** One step of a path: a field, a key of a list, a value of a set, or an index. */
export type PathElement = string;
/** A path into an object, from the outside in. */
export type Path = readonly PathElement[];

const fieldElements = new Map<string, PathElement>();
const remembered = 20_000;

/** The same few names occur over and over: their elements are made once, so that sets need not hash them again. */
export function fieldElement(name: string): PathElement {
  let element = fieldElements.get(name);
  if (element === undefined) {
    element = `f:${name}`;
    if (fieldElements.size >= remembered) fieldElements.clear();
    fieldElements.set(name, element);
  }
  return element;
}

/** An item of a keyed list. `keys` are the key fields that are present; their order does not matter. */
export function keyElement(keys: Readonly<Record<string, JsonValue>>): PathElement {
  const names = Object.keys(keys);
  if (names.length > 1) names.sort(compareBytes);
  let out = "k:{";
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    out += `${i > 0 ? "," : ""}${JSON.stringify(name)}:${scalarText(keys[name] as JsonValue)}`;
  }
  return `${out}}`;
}

/** The step into a set at a value. */
export function valueElement(value: JsonValue): PathElement {
  return `v:${scalarText(value)}`;
}

/** The step into a list at an index. */
export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

const html = /[<>&\u2028\u2029]/g;
const hasHtml = /[<>&\u2028\u2029]/;

const plainText = /^[\w .:/@-]*$/;

/** JSON as the API server writes a value inside an element: with `<`, `>` and `&` escaped. */
export function scalarText(value: JsonValue): string {
  if (typeof value === "string" && plainText.test(value)) return `"${value}"`;
  if (typeof value === "object" && value !== null) return escapeHtml(sortedText(value));
  const text = JSON.stringify(value);
  return typeof value === "string" && hasHtml.test(text) ? escapeHtml(text) : text;
}

function sortedText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (typeof value !== "object" || value === null || isRawNumber(value)) return JSON.stringify(value);
  const object: JsonObject = value;
  return `{${Object.keys(object)
    .sort(compareBytes)
    .map((key) => `${JSON.stringify(key)}:${sortedText(object[key] as JsonValue)}`)
    .join(",")}}`;
}

export function escapeHtml(text: string): string {
  return text.replace(html, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** What an element selects by. */
export type ElementContent =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "key"; readonly keys: readonly (readonly [string, JsonValue])[] }
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "index"; readonly index: number };

const parsed = new Map<PathElement, ElementContent>();

/** Reads an element. Keys and values are remembered, since the same few occur over and over. */
export function elementContent(element: PathElement): ElementContent {
  if (element.charCodeAt(0) === 102 /* f */) return { kind: "field", name: element.slice(2) };
  const known = parsed.get(element);
  if (known !== undefined) return known;
  const content = parseElement(element);
  if (parsed.size >= remembered) parsed.clear();
  parsed.set(element, content);
  return content;
}

function parseElement(element: PathElement): ElementContent {
  const body = element.slice(2);
  if (element.startsWith("k:")) {
    const object = parseJson(body);
    if (typeof object !== "object" || object === null || Array.isArray(object)) {
      throw new MergeError(
        "BadManagedFields",
        `parsing key as path element: expected an object in ${element}`,
      );
    }
    const keys = Object.entries(object).sort(([a], [b]) => compareBytes(a, b));
    return { kind: "key", keys };
  }
  if (element.startsWith("v:")) return { kind: "value", value: parseJson(body) };
  return { kind: "index", index: Number(body) };
}

const canonical = new Map<string, PathElement>();

/**
 * The canonical form of an element read from `fieldsV1`; undefined when its kind is unknown, which the
 * API server skips. Throws a {@link MergeError} when it cannot be read.
 */
export function canonicalElement(text: string): PathElement | undefined {
  if (text.length < 2 || text.charCodeAt(1) !== 58 /* : */) {
    throw new MergeError("BadManagedFields", `cannot read ${JSON.stringify(text)} as a path element`);
  }
  switch (text[0]) {
    case "f":
      return text;
    case "i": {
      if (!/^[+-]?\d+$/.test(text.slice(2))) {
        throw new MergeError("BadManagedFields", `cannot read ${JSON.stringify(text)} as an index`);
      }
      return indexElement(Number(text.slice(2)));
    }
    case "k":
    case "v": {
      const known = canonical.get(text);
      if (known !== undefined) return known;
      let element: PathElement;
      try {
        const content = parseElement(text);
        element =
          content.kind === "key"
            ? keyElement(Object.fromEntries(content.keys))
            : valueElement(content.kind === "value" ? content.value : null);
      } catch (cause) {
        throw new MergeError("BadManagedFields", `cannot read ${JSON.stringify(text)} as a path element`, {
          cause,
        });
      }
      if (canonical.size >= remembered) canonical.clear();
      canonical.set(text, element);
      return element;
    }
    default:
      return undefined;
  }
}

const kindOrder: Record<string, number> = lookupTable({ f: 0, k: 1, v: 2, i: 3 });

/** The order in which the API server lists elements: fields, keys, values, indices. */
export function compareElements(a: PathElement, b: PathElement): number {
  const kindA = kindOrder[a[0] as string] ?? 4;
  const kindB = kindOrder[b[0] as string] ?? 4;
  if (kindA !== kindB) return kindA - kindB;
  if (a === b) return 0;
  if (kindA === 0) return compareBytes(a, b);
  const left = elementContent(a);
  const right = elementContent(b);
  if (left.kind === "key" && right.kind === "key") {
    const length = Math.min(left.keys.length, right.keys.length);
    for (let i = 0; i < length; i++) {
      const [nameA, valueA] = left.keys[i] as readonly [string, JsonValue];
      const [nameB, valueB] = right.keys[i] as readonly [string, JsonValue];
      const order = compareBytes(nameA, nameB) || compareValues(valueA, valueB);
      if (order !== 0) return order;
    }
    return left.keys.length - right.keys.length;
  }
  if (left.kind === "value" && right.kind === "value") return compareValues(left.value, right.value);
  return left.kind === "index" && right.kind === "index" ? left.index - right.index : 0;
}

function typeRank(value: JsonValue): number {
  if (typeof value === "number" || isRawNumber(value)) return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (Array.isArray(value)) return 3;
  return value === null ? 5 : 4;
}

/** A total order of JSON values: numbers, strings, booleans, lists, maps, null. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  const rank = typeRank(a);
  const rankB = typeRank(b);
  if (rank !== rankB) return rank - rankB;
  if (rank === 0) {
    const x = typeof a === "number" ? a : Number((a as { rawJSON: string }).rawJSON);
    const y = typeof b === "number" ? b : Number((b as { rawJSON: string }).rawJSON);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (rank === 1) return compareBytes(a as string, b as string);
  if (rank === 2) return Number(a) - Number(b);
  if (rank === 3) return compareLists(a as JsonValue[], b as JsonValue[]);
  return rank === 4 ? compareMaps(a as JsonObject, b as JsonObject) : 0;
}

function compareLists(a: JsonValue[], b: JsonValue[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i] as JsonValue, b[i] as JsonValue);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const keysA = Object.keys(a).sort(compareBytes);
  const keysB = Object.keys(b).sort(compareBytes);
  const length = Math.min(keysA.length, keysB.length);
  for (let i = 0; i < length; i++) {
    const key = keysA[i] as string;
    const order =
      compareBytes(key, keysB[i] as string) || compareValues(a[key] as JsonValue, b[key] as JsonValue);
    if (order !== 0) return order;
  }
  return keysA.length - keysB.length;
}

/** A value as conflict messages show it. */
export function displayValue(value: JsonValue): string {
  if (value === null) return "null";
  if (typeof value === "string") return goQuote(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(displayValue).join(",")}]`;
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([key, item]) => `${key}=${displayValue(item)}`)
      .join("");
  }
  return String(value);
}

/** `.name`, `[name="x",port=80]`, `[="x"]`, `[3]`. */
export function displayElement(element: PathElement): string {
  const content = elementContent(element);
  switch (content.kind) {
    case "field":
      return `.${content.name}`;
    case "key":
      return `[${content.keys.map(([name, value]) => `${name}=${displayValue(value)}`).join(",")}]`;
    case "value":
      return `[=${displayValue(content.value)}]`;
    case "index":
      return `[${content.index}]`;
  }
}

/** A path in the notation of conflict causes: `.spec.containers[name="a"].image`. */
export function displayPath(path: Path): string {
  return path.map(displayElement).join("");
}
