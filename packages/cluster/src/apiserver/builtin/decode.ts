/** Brings the JSON of a built-in kind to the form in which the real server would print it again. */
import { CoreError, isRawNumber, type JsonObject, type JsonValue, parseTime, Quantity } from "@keelson/core";
import { type Field, type Scalar, type Shape, type StructShape, shapeOf } from "./shape.ts";

/** A body that does not fit its kind; the caller says which kind. */
export class DecodeError extends Error {
  /** What a strategic merge patch says of the same fault: it reads values, not text. */
  readonly asValue: string;
  constructor(message: string, asValue = message) {
    super(message);
    this.name = "DecodeError";
    this.asValue = asValue;
  }
}

/** Where fields that no schema knows are written down, as `spec.ports[0].junk`. */
export type UnknownFields = string[];

/**
 * A fresh object of the definition: known fields only, in one order, values in canonical form, empty
 * values present or absent as the server prints them. Throws a DecodeError on a value of the wrong type.
 */
export function decodeBuiltin(definition: string, value: JsonValue, unknown?: UnknownFields): JsonObject {
  const shape = shapeOf(definition);
  if (shape.type !== "struct") throw new Error(`${definition} is no kind`);
  if (!isObject(value))
    throw new DecodeError(`json: cannot unmarshal ${jsonType(value)} into Go value of type ${shape.name}`);
  return new Decoder(unknown).struct(shape, value, "");
}

/** A value of a definition that is part of a kind, as `io.k8s.api.core.v1.PodSpec`. */
export function decodePart(definition: string, value: JsonValue, unknown?: UnknownFields): JsonValue {
  return new Decoder(unknown).value(shapeOf(definition), value, { owner: "", path: "", shown: "" });
}

/** Where a value stands: the struct that holds it, its path for messages, its path with indices. */
interface Place {
  readonly owner: string;
  readonly path: string;
  readonly shown: string;
}

class Decoder {
  readonly #unknown: UnknownFields | undefined;

  constructor(unknown: UnknownFields | undefined) {
    this.#unknown = unknown;
  }

  struct(shape: StructShape, input: JsonObject, path: string, shown = path): JsonObject {
    const out: JsonObject = {};
    for (const field of shape.fields) {
      const raw = Object.hasOwn(input, field.name) ? input[field.name] : undefined;
      if (raw === undefined || raw === null) {
        const absent = this.#absent(field);
        if (absent !== undefined) out[field.name] = absent;
        continue;
      }
      const place = {
        owner: shape.name,
        path: path ? `${path}.${field.name}` : field.name,
        shown: shown ? `${shown}.${field.name}` : field.name,
      };
      const value = this.value(field.shape, raw, place);
      if (field.omitEmpty && isEmpty(value)) continue;
      out[field.name] = field.emptyIsNull && isEmptyCollection(field.shape, value) ? null : value;
    }
    if (this.#unknown) {
      for (const key of Object.keys(input))
        if (!shape.names.has(key)) this.#unknown.push(shown ? `${shown}.${key}` : key);
    }
    return out;
  }

  value(shape: Shape, value: JsonValue, place: Place): JsonValue {
    switch (shape.type) {
      case "any":
        return copy(value);
      case "scalar":
        return scalarValue(shape.scalar, value, place);
      case "list": {
        if (!Array.isArray(value)) throw mismatch(value, place, `[]${typeName(shape.items)}`);
        return value.map((item, i) => {
          const shown = `${place.shown}[${i}]`;
          if (item === null) return this.#zero(shape.items);
          return this.value(shape.items, item, { ...place, shown });
        });
      }
      case "map": {
        if (!isObject(value)) throw mismatch(value, place, `map[string]${typeName(shape.values)}`);
        const out: JsonObject = {};
        for (const key of Object.keys(value).sort()) {
          const item = value[key] as JsonValue;
          const at = { ...place, shown: `${place.shown}.${key}` };
          setOwn(out, key, item === null ? this.#zero(shape.values) : this.value(shape.values, item, at));
        }
        return out;
      }
      case "schema-or":
        return this.#schemaOr(shape, value, place);
      case "struct":
        if (!isObject(value)) throw mismatch(value, place, shape.name);
        return this.struct(shape, value, place.path, place.shown);
    }
  }

  #schemaOr(shape: Extract<Shape, { type: "schema-or" }>, value: JsonValue, place: Place): JsonValue {
    const schema = shapeOf(shape.schema);
    if (shape.other === "bool" && typeof value === "boolean") return value;
    if (shape.other === "schemas" && Array.isArray(value))
      return this.value({ type: "list", items: schema }, value, place);
    if (shape.other === "strings" && Array.isArray(value))
      return this.value({ type: "list", items: { type: "scalar", scalar: "string" } }, value, place);
    return this.value(schema, value, place);
  }

  #absent(field: Field): JsonValue | undefined {
    if (field.absent === undefined) return undefined;
    return field.absent === "null" ? null : this.#zero(field.shape);
  }

  #zero(shape: Shape): JsonValue {
    switch (shape.type) {
      case "struct":
        return this.struct(shape, {}, "");
      case "scalar":
        return zeroScalar(shape.scalar);
      default:
        return null;
    }
  }
}

function zeroScalar(scalar: Scalar): JsonValue {
  switch (scalar) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "float64":
    case "int-or-string":
      return 0;
    case "quantity":
      return "0";
    case "duration":
      return "0s";
    default:
      return null;
  }
}

function scalarValue(scalar: Scalar, value: JsonValue, place: Place): JsonValue {
  switch (scalar) {
    case "string":
      if (typeof value !== "string") throw mismatch(value, place, "string");
      return value;
    case "bool":
      if (typeof value !== "boolean") throw mismatch(value, place, "bool");
      return value;
    case "int32":
    case "int64":
      return integer(scalar, value, place);
    case "float64":
      if (typeof value !== "number") throw mismatch(value, place, "float64");
      return value;
    case "int-or-string":
      if (typeof value === "number" && Number.isInteger(value)) return value;
      if (typeof value !== "string") throw mismatch(value, place, "intstr.IntOrString");
      return value;
    case "quantity":
      return quantity(value);
    case "time":
    case "microtime":
      return time(scalar, value, place);
    case "duration":
      if (typeof value !== "string") throw mismatch(value, place, "string");
      return value;
    case "bytes":
      return bytes(value, place);
  }
}

function integer(scalar: "int32" | "int64", value: JsonValue, place: Place): JsonValue {
  // A raw number is an integer beyond 2^53 that core's parser kept exact.
  if (scalar === "int64" && typeof value === "object" && value !== null && "rawJSON" in value) return value;
  if (typeof value !== "number") throw mismatch(value, place, scalar);
  if (!Number.isInteger(value) || (scalar === "int32" && (value > 2147483647 || value < -2147483648)))
    throw new DecodeError(
      `json: cannot unmarshal number ${value} into Go struct field ${place.owner}.${place.path} of type ${scalar}`,
    );
  return value;
}

function quantity(value: JsonValue): string {
  try {
    if (typeof value === "string" || typeof value === "number") return Quantity.from(value).toString();
  } catch (error) {
    if (error instanceof CoreError) throw new DecodeError(error.message);
    throw error;
  }
  throw new DecodeError(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

const utcSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const utcMicros = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function time(scalar: "time" | "microtime", value: JsonValue, place: Place): JsonValue {
  if (typeof value !== "string") throw mismatch(value, place, "string");
  if (value === "") return null;
  const layout = scalar === "time" ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
  let ms: number;
  try {
    ms = parseTime(value);
  } catch {
    throw new DecodeError(
      `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse ${JSON.stringify(value)} as "2006"`,
    );
  }
  if ((scalar === "time" ? utcSeconds : utcMicros).test(value)) return value;
  const iso = new Date(Math.floor(ms)).toISOString();
  if (scalar === "time") return `${iso.slice(0, 19)}Z`;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? "";
  return `${iso.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

function bytes(value: JsonValue, place: Place): JsonValue {
  if (typeof value !== "string") throw mismatch(value, place, "[]uint8");
  const plain = /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, "") : value;
  if (plain.length % 4 === 0 && base64.test(plain)) return plain;
  const bad = plain.search(/[^A-Za-z0-9+/=]/);
  throw new DecodeError(`illegal base64 data at input byte ${bad < 0 ? plain.length : bad}`);
}

function mismatch(value: JsonValue, place: Place, type: string): DecodeError {
  const where = place.owner ? `Go struct field ${place.owner}.${place.path}` : "Go value";
  const text = `json: cannot unmarshal ${jsonType(value)} into ${where} of type ${type}`;
  return new DecodeError(text, restoreText(value, type));
}

const goKinds: Readonly<Record<string, string>> = { object: "map", array: "slice", number: "int64" };

function restoreText(value: JsonValue, type: string): string {
  const actual = goKinds[jsonType(value)] ?? jsonType(value);
  if (type.startsWith("map[")) return `cannot restore map from ${actual}`;
  if (type.startsWith("[]")) return `cannot restore slice from ${actual}`;
  if (/^[A-Z]/.test(type)) return `cannot restore struct from: ${actual}`;
  return `unrecognized type: ${type}`;
}

function typeName(shape: Shape): string {
  switch (shape.type) {
    case "struct":
      return shape.name;
    case "scalar":
      return shape.scalar === "bytes" ? "[]uint8" : shape.scalar;
    case "list":
      return `[]${typeName(shape.items)}`;
    case "map":
      return `map[string]${typeName(shape.values)}`;
    default:
      return "interface {}";
  }
}

function jsonType(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function isEmptyCollection(shape: Shape, value: JsonValue): boolean {
  return (shape.type === "list" || shape.type === "map") && isEmpty(value);
}

function isEmpty(value: JsonValue): boolean {
  if (value === "" || value === 0 || value === false || value === null) return true;
  if (typeof value !== "object") return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

/** An integer beyond 2^53 is held in an object too, one without a prototype, and is none. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.getPrototypeOf(value) !== null || !isRawNumber(value);
}

function copy(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if ("rawJSON" in value && Object.getPrototypeOf(value) === null) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(out, key, copy(value[key] as JsonValue));
  return out;
}

/** JSON may have a key `__proto__`. */
function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}
