/** What an expression gives, as JSON that can stand in an object. */
import { CelList, CelMap, type CelValue, Double, Fault, Optional, Timestamp, toJson } from "@keelson/cel";
import { fault } from "@keelson/cel/internal";
import type { JsonObject, JsonValue } from "@keelson/core";
import { isOmitted } from "./library.ts";

/** The field is left out. */
export const omit: unique symbol = Symbol("omit");
/** JSON, or nothing at all. */
export type Rendered = JsonValue | typeof omit;

/** A fault for what JSON has no form of. Elements and entries that are left out are not in it. */
export function render(value: CelValue): Rendered | Fault {
  if (isOmitted(value)) return omit;
  if (value instanceof Optional) return value.value === undefined ? null : render(value.value);
  if (value instanceof CelList) return renderList(value);
  if (value instanceof CelMap) return renderMap(value);
  if (value instanceof Uint8Array) {
    return fault("bytes cannot stand in an object; write base64.encode(…)");
  }
  // Go writes a decimal without a fraction as a whole number.
  if (value instanceof Double) return Number.isFinite(value.value) ? value.value : fault("not a JSON number");
  if (value instanceof Timestamp) return toJson(new Timestamp(value.seconds, 0));
  return toJson(value);
}

function renderList(list: CelList): JsonValue | Fault {
  const out: JsonValue[] = [];
  for (const element of list) {
    const json = render(element);
    if (json instanceof Fault) return json;
    if (json !== omit) out.push(json);
  }
  return out;
}

function renderMap(map: CelMap): JsonValue | Fault {
  const out: JsonObject = {};
  for (const key of map.keys()) {
    if (typeof key !== "string") return fault("the keys of a map must be strings to stand in an object");
    const value = map.find(key);
    const json = value === undefined ? omit : render(value);
    if (json instanceof Fault) return json;
    if (json !== omit) out[key] = json;
  }
  return out;
}
