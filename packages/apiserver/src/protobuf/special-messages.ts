/** Messages whose JSON is not an object of their fields: times, quantities, raw JSON and the like, in both directions. */
import { type JsonObject, type JsonValue, parseJson } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import { ProtobufError } from "./errors.ts";
import { wellKnown } from "./messages.ts";
import { formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from "./time-format.ts";
import { malformed } from "./wire.ts";

/** A decoded message, asked by field number. */
export interface Fields {
  /** The message had no bytes at all. */
  readonly empty: boolean;
  number(number: number): number;
  string(number: number): string;
  bytes(number: number): Uint8Array;
  present(number: number): boolean;
  json(number: number): JsonValue;
  /** The object in an envelope inside an envelope. */
  nested(bytes: Uint8Array): JsonValue;
}

type Writer = (fields: Fields) => JsonValue;

const writers: Readonly<Record<string, Writer>> = lookupTable({
  [wellKnown.time]: (fields) => (fields.empty ? null : formatTime(fields.number(1))),
  [wellKnown.microTime]: (fields) =>
    fields.empty ? null : formatMicroTime(fields.number(1), fields.number(2)),
  [wellKnown.duration]: (fields) => formatDuration(fields.number(1)),
  [wellKnown.quantity]: (fields) => fields.string(1) || "0",
  [wellKnown.intOrString]: (fields) => (fields.number(1) === 0 ? fields.number(2) : fields.string(3)),
  [wellKnown.fieldsV1]: raw,
  [wellKnown.rawExtension]: raw,
  [wellKnown.json]: raw,
  [wellKnown.schemaOrArray]: (fields) => (fields.present(2) ? fields.json(2) : fields.json(1)),
  [wellKnown.schemaOrBool]: (fields) => (fields.present(2) ? fields.json(2) : fields.number(1) !== 0),
  [wellKnown.schemaOrStrings]: (fields) => (fields.present(2) ? fields.json(2) : fields.json(1)),
});

export function specialWriter(messageName: string): Writer | undefined {
  return writers[messageName];
}

function raw(fields: Fields): JsonValue {
  const bytes = fields.bytes(1);
  if (bytes.length === 0) return null;
  if (bytes[0] === 0x6b && bytes[1] === 0x38 && bytes[2] === 0x73 && bytes[3] === 0)
    return fields.nested(bytes);
  try {
    return parseJson(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"),
    ) as JsonValue;
  } catch {
    throw malformed("a field that holds raw JSON holds something else");
  }
}

/** The message's fields by number (or by name, where it has names) for a JSON value; undefined for a message without bytes. */
type Reader = (value: JsonValue, where: string) => JsonObject | undefined;

const readers: Readonly<Record<string, Reader>> = lookupTable({
  [wellKnown.time]: (value, where) => {
    if (value === null) return undefined;
    return { 1: timeOf(value, where).seconds, 2: 0 };
  },
  [wellKnown.microTime]: (value, where) => {
    if (value === null) return undefined;
    const { seconds, nanos } = timeOf(value, where);
    return { 1: seconds, 2: nanos - (nanos % 1000) };
  },
  [wellKnown.duration]: (value, where) => {
    const nanoseconds = value === null ? 0 : typeof value === "string" ? parseDuration(value) : undefined;
    if (nanoseconds === undefined) throw unfit(where, "a duration", value);
    return { 1: nanoseconds };
  },
  [wellKnown.quantity]: (value, where) => {
    if (value !== null && typeof value !== "string" && typeof value !== "number")
      throw unfit(where, "a quantity", value);
    return { 1: value === null ? "0" : String(value) };
  },
  [wellKnown.intOrString]: (value, where) => {
    if (typeof value === "string") return { 1: 1, 2: 0, 3: value };
    if (value !== null && typeof value !== "number") throw unfit(where, "a number or a string", value);
    return { 1: 0, 2: value ?? 0, 3: "" };
  },
  [wellKnown.fieldsV1]: rawFields,
  [wellKnown.rawExtension]: rawFields,
  [wellKnown.json]: rawFields,
  [wellKnown.schemaOrArray]: schemaOrList,
  [wellKnown.schemaOrBool]: (value): JsonObject =>
    typeof value === "boolean" ? { 1: value } : { 1: true, 2: value },
  [wellKnown.schemaOrStrings]: schemaOrList,
});

export function specialReader(messageName: string): Reader | undefined {
  return readers[messageName];
}

function schemaOrList(value: JsonValue): JsonObject {
  return Array.isArray(value) ? { 2: value } : { 1: value };
}

function rawFields(value: JsonValue): JsonObject {
  return { 1: value === null ? null : Buffer.from(JSON.stringify(value)).toString("base64") };
}

function timeOf(value: JsonValue, where: string): { seconds: number; nanos: number } {
  const time = typeof value === "string" ? parseTime(value) : undefined;
  if (time === undefined) throw unfit(where, "a time", value);
  return time;
}

/** The error for a JSON value that does not fit its field. */
export function unfit(where: string, expected: string, value: JsonValue): ProtobufError {
  const text = JSON.stringify(value).slice(0, 80);
  return new ProtobufError("Unfit", `cannot encode protobuf: ${where} is not ${expected} but ${text}`);
}
