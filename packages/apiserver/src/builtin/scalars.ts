/** Single values of built-in kinds, in the form in which the real server would print them again. */
import { CoreError, isRawNumber, type JsonObject, type JsonValue, Quantity } from "@keelson/core";
import { readTime, TimeSyntaxError } from "./go-time.ts";
import type { Scalar } from "./shape.ts";

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

/** What stands for a value that is not there. */
export function zeroScalar(scalar: Scalar): JsonValue {
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
export function mismatch(value: JsonValue, type?: string): DecodeError {
  const found = jsonType(value);
  return new DecodeError(`${found} does not fit`, { found, ...(type && { type }) });
}

export function jsonType(value: JsonValue): string {
  if (isRawNumber(value)) return "number";
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** An integer beyond 2^53 is held in an object too, one without a prototype, and is none. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.getPrototypeOf(value) !== null || !isRawNumber(value);
}
