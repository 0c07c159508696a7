/** Finds what JSON cannot carry: `JSON.stringify` would drop or change it without a word. */
import { isRawNumber } from "./json.ts";

/**
 * The first value below `value` that JSON cannot carry, as a sentence that begins with its path; undefined when there
 * is none. A property that is `undefined` counts as absent; what has a `toJSON` of its own is refused all the same,
 * because types promise a plain value.
 */
export function jsonProblem(value: unknown, path: string): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `${path} is ${value}, and JSON has no such number`;
    case "object":
      return value === null ? undefined : insideOf(value, path);
    case "undefined":
      return `${path} is undefined, which JSON cannot carry; leave it out, or write null`;
    default:
      return `${path} is a ${typeof value}, which JSON cannot carry`;
  }
}

function insideOf(value: object, path: string): string | undefined {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = isFine(value[i]) ? undefined : jsonProblem(value[i], `${path}[${i}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && !isPlain(value, prototype)) {
    return `${path} is a ${nameOf(prototype)}, which JSON cannot carry; ${adviceFor(value)}`;
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined || isFine(item)) continue;
    const problem = jsonProblem(item, path === "" ? key : `${path}.${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Most values are scalars: those need no path. */
function isFine(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || value === null;
}

/** Without a prototype, or with that of another realm: both are plain. */
function isPlain(value: object, prototype: object | null): boolean {
  return prototype === null || isRawNumber(value) || Object.getPrototypeOf(prototype) === null;
}

function nameOf(prototype: { readonly constructor?: { readonly name?: string } }): string {
  return prototype.constructor?.name || "class instance";
}

function adviceFor(value: object): string {
  if (value instanceof Map) return "write Object.fromEntries(map)";
  if (value instanceof Set) return "write [...set]";
  if (value instanceof Date) return "write date.toISOString()";
  if (ArrayBuffer.isView(value)) return 'write buffer.toString("base64")';
  return "write a plain object";
}

const hasOwn = Object.prototype.hasOwnProperty;

/**
 * Whether a value equals one that `jsonProblem` found nothing in. Cheaper than looking for problems again, and as strict:
 * what JSON cannot carry equals nothing. A property that is `undefined` counts as absent.
 */
export function isSameJson(value: unknown, checked: unknown): boolean {
  if (value === checked) return true;
  if (typeof value !== "object" || typeof checked !== "object" || value === null || checked === null)
    return false;
  if (Array.isArray(value)) {
    if (!Array.isArray(checked) || value.length !== checked.length) return false;
    for (let i = 0; i < value.length; i++) if (!isSameJson(value[i], checked[i])) return false;
    return true;
  }
  if (Array.isArray(checked) || Object.getPrototypeOf(value) !== Object.prototype) return false;
  const left = value as Record<string, unknown>;
  const right = checked as Record<string, unknown>;
  let count = 0;
  for (const key in left) {
    const item = left[key];
    if (item === undefined) continue;
    count++;
    if (!hasOwn.call(right, key) || !isSameJson(item, right[key])) return false;
  }
  for (const key in right) if (right[key] !== undefined) count--;
  return count === 0;
}
