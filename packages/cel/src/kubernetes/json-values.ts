/** JSON data as an expression sees it through its schema. Nothing is copied: values are read when asked for. */

import { deepEqual, isRawNumber } from "@keelson/core";
import { isObject, lookupTable } from "@keelson/core/internal";
import { equal, noSuchOverload } from "../values/compare.ts";
import { effort } from "../values/effort.ts";
import { intFromBigInt, isInt64 } from "../values/numbers.ts";
import { opaqueType } from "../values/types.ts";
import {
  ArrayList,
  CelList,
  CelMap,
  type CelValue,
  Double,
  Fault,
  fault,
  type MapKey,
  mapKey,
  Opaque,
} from "../values/values.ts";
import { withTypeAndObjectMeta } from "./decl-type.ts";
import { escapeName, fieldNamed } from "./escaping.ts";
import {
  parseFormattedBytes,
  parseFormattedDate,
  parseFormattedDateTime,
  parseFormattedDuration,
} from "./library/string-formats.ts";
import type { RuleSchema } from "./types.ts";

/** Reads a JSON value of one schema. */
export type Reader = (json: unknown) => CelValue;

const readers = new WeakMap<RuleSchema, Reader>();

/** Made once for each schema and kept with it. */
export function readerOf(schema: RuleSchema): Reader {
  const known = readers.get(schema);
  if (known !== undefined) return known;
  const read = nullable(schema, makeReader(schema));
  readers.set(schema, read);
  return read;
}

const unexpectedNull = fault("invalid data, got null for schema with nullable=false");

function nullable(schema: RuleSchema, read: Reader): Reader {
  const empty = schema.nullable ? null : unexpectedNull;
  return (json) => (json === null || json === undefined ? empty : read(json));
}

function makeReader(schema: RuleSchema): Reader {
  if (schema["x-kubernetes-int-or-string"]) return readIntOrString;
  switch (schema.type) {
    case "object":
      return objectReader(schema);
    case "array":
      return listReader(schema);
    case "string":
      return stringReader(schema.format);
    case "number":
      return readNumber;
    case "integer":
      return readInteger;
    case "boolean":
      return (json) => (typeof json === "boolean" ? json : unexpected("bool", json));
    default:
      if (schema["x-kubernetes-preserve-unknown-fields"]) return (json) => new Preserved(json);
      return () =>
        fault(
          "invalid type, expected object, array, number, integer, boolean or string, or no type with " +
            `x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${schema.type ?? ""}`,
        );
  }
}

function unexpected(wanted: string, json: unknown): Fault {
  return fault(`invalid data, expected ${wanted}, got ${goType(json)}`);
}

function goType(json: unknown): string {
  if (Array.isArray(json)) return "[]interface {}";
  switch (typeof json) {
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(json) ? "int64" : "float64";
    case "object":
      return "map[string]interface {}";
    default:
      return typeof json;
  }
}

function readIntOrString(json: unknown): CelValue {
  if (typeof json === "string") return json;
  const whole = integerOf(json);
  return whole ?? fault("invalid data, expected XIntOrString value to be either a string or integer");
}

function integerOf(json: unknown): CelValue | undefined {
  if (typeof json === "number") return Number.isSafeInteger(json) ? json + 0 : undefined;
  if (!isRawNumber(json)) return undefined;
  const value = BigInt(json.rawJSON);
  return isInt64(value) ? intFromBigInt(value) : undefined;
}

function readInteger(json: unknown): CelValue {
  return integerOf(json) ?? unexpected("int", json);
}

function readNumber(json: unknown): CelValue {
  if (typeof json === "number") return new Double(json);
  return isRawNumber(json) ? new Double(Number(json.rawJSON)) : unexpected("float", json);
}

function stringReader(format: string | undefined): Reader {
  const parse = format === undefined ? undefined : parsers[format];
  if (parse === undefined) return (json) => (typeof json === "string" ? json : unexpected("string", json));
  return (json) => (typeof json === "string" ? parse(json) : unexpected("string", json));
}

const parsers: Readonly<Record<string, ((text: string) => CelValue) | undefined>> = lookupTable({
  duration: (text) => parseFormattedDuration(text) ?? fault(`Invalid duration ${text}`),
  date: (text) => parseFormattedDate(text) ?? fault(`Invalid date formatted string ${text}`),
  "date-time": (text) => parseFormattedDateTime(text) ?? fault(`Invalid date-time formatted string ${text}`),
  byte: (text) => parseFormattedBytes(text) ?? fault(`Invalid byte formatted string ${text}`),
});

/** Data kept without a schema: it can only be compared. */
class Preserved extends Opaque {
  readonly type = opaqueType("unknown");
  readonly #json: unknown;

  constructor(json: unknown) {
    super();
    this.#json = json;
  }

  equals(other: CelValue): boolean {
    return other instanceof Preserved && deepEqual(this.#json, other.#json);
  }
}

type JsonRecord = Readonly<Record<string, unknown>>;

function objectReader(schema: RuleSchema): Reader {
  const notMap = fault("invalid data, expected a map for the provided schema with type=object");
  const shape = objectShape(schema);
  return (json) => (isObject(json) ? new JsonMap(json, shape) : notMap);
}

interface Field {
  /** The property's name in JSON. */
  readonly name: string;
  /** Its name in an expression. */
  readonly key: string;
  readonly read: Reader;
}

interface ObjectShape {
  /** Of an object with properties: by the name an expression writes. Absent for a map. */
  readonly fields: ReadonlyMap<string, Field> | undefined;
  /** The same by the name in JSON. */
  readonly byName: ReadonlyMap<string, Field> | undefined;
  /** Of a map: how its values are read. */
  readonly values: Reader | undefined;
}

function objectShape(schema: RuleSchema): ObjectShape {
  const embedded = schema["x-kubernetes-embedded-resource"] ?? false;
  const whole = embedded ? withTypeAndObjectMeta(schema) : schema;
  if (whole.properties !== undefined) {
    const fields = new Map<string, Field>();
    const byName = new Map<string, Field>();
    for (const [name, property] of Object.entries(whole.properties)) {
      // Made when first needed: most fields of a large schema are never read by a rule.
      const read: Reader = (json) => readerOf(property)(json);
      const field = { name, key: escapeName(name) ?? name, read };
      fields.set(field.key, field);
      byName.set(name, field);
    }
    return { fields, byName, values: undefined };
  }
  const values = whole.additionalProperties;
  const read: Reader | undefined = typeof values === "object" ? (json) => readerOf(values)(json) : undefined;
  return { fields: undefined, byName: undefined, values: read };
}

/** An object or map of JSON. */
export class JsonMap extends CelMap {
  readonly json: JsonRecord;
  readonly #shape: ObjectShape;
  #size: number | undefined;
  /** Children read so far: a rule in a loop reads the same ones again and again. */
  #children: Map<string, CelValue> | undefined;

  constructor(json: JsonRecord, shape: ObjectShape) {
    super();
    this.json = json;
    this.#shape = shape;
  }

  override get size(): number {
    this.#size ??= Object.keys(this.json).length;
    return this.#size;
  }

  override find(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return key instanceof Fault ? key : noSuchOverload;
    const { fields, values } = this.#shape;
    if (fields !== undefined) {
      const field = fieldNamed(fields, key);
      if (field === undefined) return undefined;
      const json = this.json[field.name];
      // A nullable field that is null reads as absent.
      if (json === undefined || json === null) return undefined;
      return typeof json === "object" ? this.#child(key, json, field.read) : field.read(json);
    }
    if (values === undefined || !Object.hasOwn(this.json, key)) return undefined;
    return this.#child(key, this.json[key], values);
  }

  #child(key: string, json: unknown, read: Reader): CelValue {
    const known = this.#children?.get(key);
    if (known !== undefined) return known;
    const value = read(json);
    this.#children ??= new Map();
    this.#children.set(key, value);
    return value;
  }

  override *keys(): IterableIterator<CelValue> {
    const { fields, values } = this.#shape;
    if (fields === undefined) {
      if (values !== undefined) yield* Object.keys(this.json);
      return;
    }
    for (const [name, field] of fields) if (Object.hasOwn(this.json, field.name)) yield name;
  }

  override equals(other: CelMap): boolean | Fault {
    if (this.size !== other.size) return false;
    effort.steps += 2 * this.size;
    const { byName, values } = this.#shape;
    for (const name of Object.keys(this.json)) {
      const key = byName === undefined ? (values === undefined ? undefined : name) : byName.get(name)?.key;
      const same =
        key === undefined ? this.#sameRaw(other, name) : sameField(this.find(key), other.find(key));
      if (same !== true) return same;
    }
    return true;
  }

  /** Compares what the schema does not describe. */
  #sameRaw(other: CelMap, name: string): boolean | Fault {
    if (!(other instanceof JsonMap)) return noSuchOverload;
    return !Object.hasOwn(other.json, name) || deepEqual(this.json[name], other.json[name]);
  }
}

function sameField(left: CelValue | undefined, right: CelValue | undefined): boolean | Fault {
  return left === undefined || right === undefined ? left === right : equal(left, right);
}

function listReader(schema: RuleSchema): Reader {
  const notArray = fault("invalid data, expected an array for the provided schema with type=array");
  const noItems = fault("invalid array type, expected Items with a non-empty Schema");
  const { items } = schema;
  if (items === undefined) return () => noItems;
  const read: Reader = (json) => readerOf(items)(json);
  const make = listMaker(schema);
  return (json) => (Array.isArray(json) ? make(new JsonElements(json, read)) : notArray);
}

function listMaker(schema: RuleSchema): (elements: CelList) => CelList {
  switch (schema["x-kubernetes-list-type"]) {
    case "set":
      return (elements) => new SetList(elements);
    case "map": {
      const keys = schema["x-kubernetes-list-map-keys"] ?? [];
      return (elements) => new KeyedList(elements, keys);
    }
    default:
      return (elements) => elements;
  }
}

class JsonElements extends CelList {
  readonly #json: readonly unknown[];
  readonly #read: Reader;
  readonly #known: (CelValue | undefined)[] = [];

  constructor(json: readonly unknown[], read: Reader) {
    super();
    this.#json = json;
    this.#read = read;
  }

  override get size(): number {
    return this.#json.length;
  }

  override at(index: number): CelValue {
    const known = this.#known[index];
    if (known !== undefined) return known;
    const value = this.#read(this.#json[index]);
    this.#known[index] = value;
    return value;
  }

  /** Unlike lists made by an expression, an element that cannot be compared makes the comparison fail. */
  override equals(other: CelList): boolean | Fault {
    if (this.size !== other.size) return false;
    effort.steps += this.size;
    for (let i = 0; i < this.size; i++) {
      const same = equal(this.at(i), other.at(i));
      if (same !== true) return same;
    }
    return true;
  }
}

/** A list whose order does not count when it is compared, and which grows only by what it lacks. */
class SetList extends CelList {
  readonly #elements: CelList;
  #members: Set<MapKey | undefined> | undefined;

  constructor(elements: CelList) {
    super();
    this.#elements = elements;
  }

  override get size(): number {
    return this.#elements.size;
  }

  override at(index: number): CelValue {
    return this.#elements.at(index);
  }

  #keys(): Set<MapKey | undefined> {
    this.#members ??= new Set([...this.#elements].map(mapKey));
    return this.#members;
  }

  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false;
    effort.steps += this.size;
    for (const element of other) if (!this.#keys().has(mapKey(element))) return false;
    return true;
  }

  override plus(other: CelList): CelValue {
    const known = new Set(this.#keys());
    const merged = [...this.#elements];
    for (const element of other) {
      const key = mapKey(element);
      if (known.has(key)) continue;
      known.add(key);
      merged.push(element);
    }
    return new SetList(new ArrayList(merged));
  }
}

/** A list whose elements are told apart by some of their fields. */
class KeyedList extends CelList {
  readonly #elements: CelList;
  readonly #keyFields: readonly string[];
  #byKey: Map<string, CelValue> | undefined;

  constructor(elements: CelList, keyFields: readonly string[]) {
    super();
    this.#elements = elements;
    this.#keyFields = keyFields;
  }

  override get size(): number {
    return this.#elements.size;
  }

  override at(index: number): CelValue {
    return this.#elements.at(index);
  }

  #keyOf(element: CelValue): string {
    if (!(element instanceof JsonMap)) return "";
    return JSON.stringify(this.#keyFields.map((field) => element.json[escapeName(field) ?? field] ?? null));
  }

  #map(): Map<string, CelValue> {
    this.#byKey ??= new Map([...this.#elements].map((element) => [this.#keyOf(element), element]));
    return this.#byKey;
  }

  override equals(other: CelList): boolean | Fault {
    if (this.size !== other.size) return false;
    effort.steps += this.size;
    for (const element of other) {
      const mine = this.#map().get(this.#keyOf(element));
      if (mine === undefined) return false;
      const same = equal(mine, element);
      if (same !== true) return same;
    }
    return true;
  }

  override plus(other: CelList): CelValue {
    const merged = [...this.#elements];
    const places = new Map(merged.map((element, i) => [this.#keyOf(element), i]));
    for (const element of other) {
      const place = places.get(this.#keyOf(element));
      if (place === undefined) merged.push(element);
      else merged[place] = element;
    }
    return new KeyedList(new ArrayList(merged), this.#keyFields);
  }
}
