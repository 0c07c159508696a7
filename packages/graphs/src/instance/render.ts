/** Puts values into a template. */
import { deepCopy, type JsonObject, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import { omit, type Rendered } from "../expressions/json.ts";
import type { Path } from "../path.ts";

/** A copy of the template with each value at its place; what is left out is not in it. */
export function fill(template: JsonObject, values: Iterable<readonly [Path, Rendered]>): JsonObject {
  const root = deepCopy(template) as JsonObject;
  let omits = false;
  for (const [path, value] of values) {
    if (value === omit) omits = true;
    setAt(root, path, value);
  }
  return omits ? (withoutOmitted(root) as JsonObject) : root;
}

type Container = Record<string | number, unknown>;

function setAt(root: JsonObject, path: Path, value: unknown): void {
  let at = root as unknown as Container;
  for (const [position, step] of path.entries()) {
    if (position === path.length - 1) at[step] = value;
    else {
      at[step] ??= typeof path[position + 1] === "number" ? [] : {};
      at = at[step] as Container;
    }
  }
}

/** Only the fields that have values, each at its place: for a status, whose fields come one by one. */
export function collect(values: Iterable<readonly [Path, Rendered]>): JsonObject {
  const root: JsonObject = {};
  for (const [path, value] of values) if (value !== omit) setAt(root, path, value);
  return withoutHoles(root) as JsonObject;
}

function withoutOmitted(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.filter((each) => each !== omit).map(withoutOmitted);
  if (!isObject(value)) return value as JsonValue;
  const kept = Object.entries(value as Record<string, unknown>).filter(([, each]) => each !== omit);
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutOmitted(each)]));
}

/** An element of a list whose value is not known yet leaves no hole; nothing at all is no value of a status. */
function withoutHoles(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.filter(isThere).map(withoutHoles);
  // A number that JavaScript cannot hold is an object too, and stays whole.
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, each]) => isThere(each));
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutHoles(each as JsonValue)]));
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}
