/** Brings the JSON of a built-in kind to the form in which the real server would print it again. */
import { CoreError, isRawNumber, type JsonObject, type JsonValue, Quantity } from "@keelson/core";
import { firstFault } from "./first-fault.ts";
import { readTime, TimeSyntaxError } from "./go-time.ts";
import { type Field, type Scalar, type Shape, type StructShape, shapeOf } from "./shape.ts";

/** A body that does not fit its kind; the caller says which kind. */
export class DecodeError extends Error {
  /** A value of another type than Go's: what was found, and the type that was wanted, if it is not the field's. */
  readonly mismatch: { readonly found: string; readonly type?: string } | undefined;
  constructor(message: string, mismatch?: DecodeError["mismatch"]) {
    super(message);
    this.name = "DecodeError";
    this.mismatch = mismatch;
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
  return decodeShape(shape, value, unknown) as JsonObject;
}

/** A value of a definition that is part of a kind, as `io.k8s.api.core.v1.PodSpec`. */
export function decodePart(definition: string, value: JsonValue, unknown?: UnknownFields): JsonValue {
  return decodeShape(shapeOf(definition), value, unknown);
}

function decodeShape(shape: Shape, value: JsonValue, unknown: UnknownFields | undefined): JsonValue {
  try {
    return new Decoder(unknown).value(shape, value, "");
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw firstFault(shape, value) ?? error;
  }
}

class Decoder {
  readonly #unknown: UnknownFields | undefined;

  constructor(unknown: UnknownFields | undefined) {
    this.#unknown = unknown;
  }

  /** `shown` is the path with indices, for unknown fields. */
  value(shape: Shape, value: JsonValue, shown: string): JsonValue {
    switch (shape.type) {
      case "any":
        return copy(value);
      case "scalar":
        return scalarValue(shape.scalar, value);
      case "list": {
        if (!Array.isArray(value)) throw mismatch(value);
        return value.map((item, i) =>
          item === null ? this.#zero(shape.items) : this.value(shape.items, item, `${shown}[${i}]`),
        );
      }
      case "map": {
        if (!isObject(value)) throw mismatch(value);
        const out: JsonObject = {};
        for (const key of Object.keys(value).sort()) {
          const item = value[key] as JsonValue;
          setOwn(
            out,
            key,
            item === null ? this.#element(shape.values) : this.value(shape.values, item, `${shown}.${key}`),
          );
        }
        return out;
      }
      case "schema-or":
        return this.#schemaOr(shape, value, shown);
      case "struct":
        if (!isObject(value)) throw mismatch(value);
        return this.#struct(shape, value, shown);
    }
  }

  #struct(shape: StructShape, input: JsonObject, shown: string): JsonObject {
    const out: JsonObject = {};
    for (const field of shape.fields) {
      const raw = Object.hasOwn(input, field.name) ? input[field.name] : undefined;
      if (raw === undefined || raw === null) {
        const absent = this.#absent(field);
        if (absent !== undefined) out[field.name] = absent;
        continue;
      }
      const value = this.value(field.shape, raw, shown ? `${shown}.${field.name}` : field.name);
      if (field.omitEmpty && isEmpty(value)) continue;
      out[field.name] = value;
    }
    if (this.#unknown) {
      for (const key in input) if (!shape.names.has(key)) this.#unknown.push(shown ? `${shown}.${key}` : key);
    }
    return out;
  }

  #schemaOr(shape: Extract<Shape, { type: "schema-or" }>, value: JsonValue, shown: string): JsonValue {
    const schema = shapeOf(shape.schema);
    if (isObject(value)) return this.value(schema, value, shown);
    if (shape.other === "bool") {
      if (typeof value !== "boolean") throw mismatch(value);
      return value;
    }
    // Where a list may stand, anything else is read as nothing.
    if (!Array.isArray(value)) return null;
    const items: Shape = shape.other === "schemas" ? schema : { type: "scalar", scalar: "string" };
    return this.value({ type: "list", items }, value, shown);
  }

  #absent(field: Field): JsonValue | undefined {
    if (field.absent === undefined) return undefined;
    return field.absent === "null" ? null : this.#zero(field.shape);
  }

  /** Bytes that are not there are stored as no bytes. */
  #element(shape: Shape): JsonValue {
    return shape.type === "scalar" && shape.scalar === "bytes" ? "" : this.#zero(shape);
  }

  #zero(shape: Shape): JsonValue {
    switch (shape.type) {
      case "struct":
        return this.#struct(shape, {}, "");
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

/** Throws a DecodeError; only the caller knows where the value stands. */
export function scalarValue(scalar: Scalar, value: JsonValue): JsonValue {
  switch (scalar) {
    case "string":
      if (typeof value !== "string") throw mismatch(value);
      return value;
    case "bool":
      if (typeof value !== "boolean") throw mismatch(value);
      return value;
    case "int32":
    case "int64":
      return integer(scalar, value);
    case "float64":
      if (typeof value !== "number") throw mismatch(value);
      return value;
    case "int-or-string":
      return typeof value === "string" ? value : integer("int32", value);
    case "quantity":
      return quantity(value);
    case "time":
    case "microtime":
      return time(scalar, value);
    case "duration":
      if (typeof value !== "string") throw mismatch(value, "string");
      return value;
    case "bytes":
      return bytes(value);
  }
}

function integer(scalar: "int32" | "int64", value: JsonValue): JsonValue {
  const raw = isRawNumber(value) ? value.rawJSON : undefined;
  if (raw === undefined && typeof value !== "number") throw mismatch(value, scalar);
  const written = raw ?? String(value);
  if (fits(scalar, written)) return value;
  const found = `number ${written}`;
  throw new DecodeError(`${found} is no ${scalar}`, { found, type: scalar });
}

function fits(scalar: "int32" | "int64", written: string): boolean {
  if (!/^-?\d+$/.test(written)) return false;
  if (written.length < 10) return true;
  const bits = scalar === "int32" ? 31n : 63n;
  const value = BigInt(written);
  return value < 1n << bits && value >= -(1n << bits);
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

const zeroTime = "0001-01-01T00:00:00Z";

function time(scalar: "time" | "microtime", value: JsonValue): JsonValue {
  if (typeof value !== "string") throw mismatch(value, "string");
  try {
    const read = readTime(value, scalar);
    return read === zeroTime ? null : read;
  } catch (error) {
    if (error instanceof TimeSyntaxError) throw new DecodeError(error.message);
    throw error;
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function bytes(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return Buffer.from(value.map(octet)).toString("base64");
  if (typeof value !== "string") throw mismatch(value);
  const plain = /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, "") : value;
  if (base64.test(plain)) return plain;
  throw new DecodeError(`illegal base64 data at input byte ${firstBadByte(plain)}`);
}

function octet(value: JsonValue): number {
  if (value === null) return 0;
  if (typeof value !== "number") throw mismatch(value, "uint8");
  if (Number.isInteger(value) && value >= 0 && value <= 255) return value;
  throw new DecodeError(`${value} is no byte`, { found: `number ${value}`, type: "uint8" });
}

/** Where Go's reader stops: at a character of no meaning, after the padding, or where the last group begins. */
function firstBadByte(text: string): number {
  const stop = /[^A-Za-z0-9+/]/.exec(text)?.index;
  if (stop === undefined) return text.length - (text.length % 4);
  const taken = stop % 4;
  if (text[stop] !== "=" || taken < 2) return stop;
  if (taken === 3) return stop + 1;
  if (text[stop + 1] === undefined) return text.length;
  return text[stop + 1] === "=" ? stop + 2 : stop;
}

/** `type` is what was wanted, when that is not the field's own type. */
function mismatch(value: JsonValue, type?: string): DecodeError {
  const found = jsonType(value);
  return new DecodeError(`${found} does not fit`, { found, ...(type && { type }) });
}

export function jsonType(value: JsonValue): string {
  if (isRawNumber(value)) return "number";
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
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
