/** Plain JSON values: parse and print without losing large integers, compare, copy, freeze. */
import { hasEscapedKey, readJson } from "./json-reader.ts";
import type { JsonObject, JsonValue } from "./object.ts";
import { setKey } from "./set-key.ts";

/** An integer beyond 2^53 that only passes through: `JSON.stringify` prints its digits unchanged. */
export interface RawNumber {
  readonly rawJSON: string;
}

interface JsonWithSource {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
}

const json = JSON as unknown as JsonWithSource;

const longDigits = 16;
/** Sixteen digits in a row where a number may start: only such a text pays for the slow parse. */
const longNumber = /(?:^|[:[,\s])-?\d{16}/;
const integer = /^-?\d+$/;

/** Whether a value is an integer that JavaScript’s numbers cannot hold. */
export function isRawNumber(value: unknown): value is RawNumber {
  return (
    typeof value === "object" &&
    value !== null &&
    (value as Partial<RawNumber>).rawJSON !== undefined &&
    json.isRawJSON(value)
  );
}

/** Whether a value is a JSON object: neither an array, nor null, nor a raw number. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.getPrototypeOf(value) !== null || !isRawNumber(value);
}

/** A number of any size: a `number` where that is exact, a raw number otherwise. */
export function numberFromDigits(digits: string): JsonValue {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : (json.rawJSON(digits) as unknown as JsonObject);
}

/**
 * Parses JSON; for every text that may be someone else's. Integers beyond 2^53 become raw numbers (see
 * {@link isRawNumber}) that print as they were read; everything else is what `JSON.parse` should return, and returns
 * for texts without escapes in keys. Throws a `SyntaxError`.
 */
export function parseJson(text: string): JsonValue {
  if (hasLongNumber(text) || hasEscapedKey(text)) return readJson(text, toNumber);
  // biome-ignore lint/plugin: the one place that has looked at the text before.
  return JSON.parse(text) as JsonValue;
}

/** Every sixteenth character is enough to know that there are no sixteen digits in a row. */
function hasLongNumber(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - start >= longDigits) return longNumber.test(text);
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function toNumber(digits: string): JsonValue {
  const value = Number(digits);
  if (Number.isSafeInteger(value) || !integer.test(digits)) return value;
  return json.rawJSON(digits) as unknown as JsonObject;
}

/** Order of two strings by their UTF-8 bytes, which is how the API server sorts; UTF-16 order differs above U+FFFF. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x >= 0xd800 && y >= 0xd800) {
      const xSurrogate = x <= 0xdfff;
      const ySurrogate = y <= 0xdfff;
      if (xSurrogate !== ySurrogate) return xSurrogate ? 1 : -1;
    }
    return x < y ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

/** JSON with object keys in byte order and no white space: equal values print alike. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) {
    let out = "[";
    for (let i = 0; i < value.length; i++) out += (i === 0 ? "" : ",") + canonicalJson(value[i]);
    return `${out}]`;
  }
  const object = value as Record<string, unknown>;
  if (object.rawJSON !== undefined && json.isRawJSON(value)) return value.rawJSON;
  const keys = Object.keys(object);
  if (!areSorted(keys)) keys.sort(compareBytes);
  let out = "{";
  for (const key of keys) {
    const item = object[key];
    if (item !== undefined) out += `${out.length === 1 ? "" : ","}${quoted(key)}:${canonicalJson(item)}`;
  }
  return `${out}}`;
}

function areSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++)
    if (compareBytes(keys[i - 1] as string, keys[i] as string) > 0) return false;
  return true;
}

/** What needs no escape, as most names and values do. */
const plain = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return text.length < 64 && plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

const hasOwn = Object.prototype.hasOwnProperty;

/** Whether two JSON values are the same; a property that is `undefined` counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let count = 0;
  for (const key in left) {
    const value = left[key];
    if (value === undefined) continue;
    count++;
    if (!hasOwn.call(right, key) || !deepEqual(value, right[key])) return false;
  }
  for (const key in right) if (right[key] !== undefined) count--;
  return count === 0;
}

/** A copy that shares nothing with the original but frozen raw numbers. For JSON only: no dates, no classes. */
export function deepCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const out = new Array(value.length);
    for (let i = 0; i < value.length; i++) out[i] = deepCopy(value[i]);
    return out as T;
  }
  const object = value as Record<string, unknown>;
  if (object.rawJSON !== undefined && json.isRawJSON(object)) return value;
  const out: Record<string, unknown> = {};
  for (const key in object) {
    const item = object[key];
    setKey(out, key, typeof item === "object" && item !== null ? deepCopy(item) : item);
  }
  return out as T;
}

/** Freezes a value and all it contains, and returns it. What is frozen already is taken to be frozen below. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze(value[key]);
  return value;
}
