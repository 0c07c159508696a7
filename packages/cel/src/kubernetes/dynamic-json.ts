/** JSON without a schema, to CEL and back. */
import { isRawNumber, type JsonValue } from "@keelson/core";
import { numberFromDigits } from "@keelson/core/internal";
import { intFromBigInt, isInt64 } from "../values/numbers.ts";
import { formatInSeconds, formatTimestamp } from "../values/time.ts";
import {
  CelList,
  CelMap,
  CelStruct,
  type CelValue,
  Double,
  Duration,
  Fault,
  fault,
  Optional,
  Timestamp,
  Uint,
} from "../values/values.ts";

/** Whole numbers become ints, others doubles; objects and lists are read in place. */
export function fromJson(json: unknown): CelValue {
  switch (typeof json) {
    case "string":
    case "boolean":
      return json;
    case "number":
      return Number.isSafeInteger(json) ? json + 0 : new Double(json);
    case "object":
      if (json === null) return null;
      if (Array.isArray(json)) return new DynamicList(json);
      return isRawNumber(json) ? fromDigits(json.rawJSON) : new DynamicMap(json as Record<string, unknown>);
    default:
      return null;
  }
}

function fromDigits(digits: string): CelValue {
  const value = BigInt(digits);
  return isInt64(value) ? intFromBigInt(value) : new Double(Number(digits));
}

class DynamicList extends CelList {
  readonly #json: readonly unknown[];

  constructor(json: readonly unknown[]) {
    super();
    this.#json = json;
  }

  override get size(): number {
    return this.#json.length;
  }

  override at(index: number): CelValue {
    return fromJson(this.#json[index]);
  }
}

class DynamicMap extends CelMap {
  readonly #json: Readonly<Record<string, unknown>>;

  constructor(json: Readonly<Record<string, unknown>>) {
    super();
    this.#json = json;
  }

  override get size(): number {
    return Object.keys(this.#json).length;
  }

  override find(key: CelValue): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    return fromJson(this.#json[key]);
  }

  override keys(): Iterable<CelValue> {
    return Object.keys(this.#json);
  }
}

/** A fault for what JSON cannot hold. */
export function toJson(value: CelValue): JsonValue | Fault {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
      return value;
    case "bigint":
      return numberFromDigits(String(value));
    default:
      return value === null ? null : objectToJson(value);
  }
}

function objectToJson(
  value: Exclude<CelValue, string | boolean | number | bigint | null>,
): JsonValue | Fault {
  if (value instanceof Fault) return value;
  if (value instanceof CelList) return listToJson(value);
  if (value instanceof CelMap) return entriesToJson(mapEntries(value));
  if (value instanceof CelStruct) return entriesToJson(value.fields);
  if (value instanceof Uint) return numberFromDigits(String(value.value));
  if (value instanceof Double) {
    return Number.isFinite(value.value) ? value.value : fault(`${value.value} is not a JSON number`);
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatInSeconds(value);
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value);
  return fault(`a value of type '${value.type.name}' has no JSON form`);
}

function listToJson(list: CelList): JsonValue | Fault {
  const out: JsonValue[] = [];
  for (const element of list) {
    const json = toJson(element);
    if (json instanceof Fault) return json;
    out.push(json);
  }
  return out;
}

function* mapEntries(map: CelMap): IterableIterator<[CelValue, CelValue]> {
  for (const key of map.keys()) {
    const value = map.find(key);
    if (value !== undefined) yield [key, value];
  }
}

function entriesToJson(entries: Iterable<readonly [CelValue, CelValue]>): JsonValue | Fault {
  const out: Record<string, JsonValue> = {};
  for (const [key, value] of entries) {
    if (typeof key !== "string") return fault("map keys must be strings to become JSON");
    const json = toJson(value);
    if (json instanceof Fault) return json;
    out[key] = json;
  }
  return out;
}
