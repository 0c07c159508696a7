/** Conversions between types: `int(x)`, `string(x)` and their kin. */
import { intFromDecimal, intFromDouble, uintFromDecimal, uintFromDouble } from "./numbers.ts";
import {
  formatInSeconds,
  formatTimestamp,
  intOverflow,
  parseDuration,
  parseTimestamp,
  timestampAt,
  timestampOverflow,
} from "./time.ts";
import {
  type CelValue,
  Double,
  Duration,
  type Fault,
  fault,
  isInt,
  Opaque,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
} from "./values.ts";

export const uintOverflow: Fault = fault("unsigned integer overflow");

function cannot(value: CelValue, to: string): Fault {
  return fault(`type conversion error from '${typeOf(value).name}' to '${to}'`);
}

export function toInt(value: CelValue): CelValue {
  if (isInt(value)) return value;
  if (value instanceof Uint) {
    return typeof value.value === "bigint" && value.value >= 2n ** 63n ? intOverflow : value.value;
  }
  if (value instanceof Double) return intFromDouble(value.value) ?? intOverflow;
  if (typeof value === "string") return intFromDecimal(value) ?? cannot(value, "int");
  if (value instanceof Timestamp) return value.seconds;
  if (value instanceof Duration) return value.nanos;
  return cannot(value, "int");
}

export function toUint(value: CelValue): CelValue {
  if (value instanceof Uint) return value;
  if (isInt(value)) return value < 0 ? uintOverflow : new Uint(value);
  if (value instanceof Double) {
    const whole = uintFromDouble(value.value);
    return whole === undefined ? uintOverflow : new Uint(whole);
  }
  if (typeof value === "string") {
    const whole = uintFromDecimal(value);
    return whole === undefined ? cannot(value, "uint") : new Uint(whole);
  }
  return cannot(value, "uint");
}

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const special = /^([+-]?)(inf|infinity|nan)$/i;

export function toDouble(value: CelValue): CelValue {
  if (value instanceof Double) return value;
  if (isInt(value)) return new Double(Number(value));
  if (value instanceof Uint) return new Double(Number(value.value));
  if (typeof value !== "string") return cannot(value, "double");
  const named = special.exec(value);
  if (named !== null) {
    if (named[2]?.toLowerCase() === "nan") {
      return named[1] === "" ? new Double(Number.NaN) : cannot(value, "double");
    }
    return new Double(named[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
  }
  const parsed = decimal.test(value) ? Number(value) : Number.NaN;
  return Number.isFinite(parsed) ? new Double(parsed) : cannot(value, "double");
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

export function toBool(value: CelValue): CelValue {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return cannot(value, "bool");
  return truths.get(value) ?? cannot(value, "bool");
}

export function toText(value: CelValue): CelValue {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "number":
    case "bigint":
      return String(value);
    default:
      if (value instanceof Uint) return String(value.value);
      if (value instanceof Double) return doubleText(value.value);
      if (value instanceof Uint8Array) return bytesText(value);
      if (value instanceof Timestamp) return formatTimestamp(value);
      if (value instanceof Duration) return formatInSeconds(value);
      if (value instanceof TypeValue) return value.type.name;
      return cannot(value, "string");
  }
}

/** The shortest form, with an exponent below 1e-4 and from 1e6 on, as Go's `%g` has it. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-Inf" : "+Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function bytesText(bytes: Uint8Array): CelValue {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return fault("invalid UTF-8 in bytes, cannot convert to string");
    throw error;
  }
}

export function toBytes(value: CelValue): CelValue {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? new TextEncoder().encode(value) : cannot(value, "bytes");
}

export function toTimestamp(value: CelValue): CelValue {
  if (value instanceof Timestamp) return value;
  if (isInt(value)) return typeof value === "number" ? timestampAt(value, 0) : timestampOverflow;
  if (typeof value !== "string") return cannot(value, "google.protobuf.Timestamp");
  return parseTimestamp(value) ?? cannot(value, "google.protobuf.Timestamp");
}

export function toDuration(value: CelValue): CelValue {
  if (value instanceof Duration) return value;
  if (typeof value !== "string") return cannot(value, "google.protobuf.Duration");
  return parseDuration(value) ?? cannot(value, "google.protobuf.Duration");
}

export function toType(value: CelValue): CelValue {
  return value instanceof Opaque ? new TypeValue(value.type) : new TypeValue(typeOf(value));
}
