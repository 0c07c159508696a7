/** Messages whose JSON is not an object of their fields: times, quantities, raw JSON and the like. */
import type { JsonValue } from "@keelson/core";
import { wellKnown } from "./messages.ts";
import { formatDuration, formatMicroTime, formatTime } from "./time-format.ts";
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

const writers: Readonly<Record<string, Writer>> = {
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
};

export function specialValue(messageName: string): Writer | undefined {
  return writers[messageName];
}

function raw(fields: Fields): JsonValue {
  const bytes = fields.bytes(1);
  if (bytes.length === 0) return null;
  if (bytes[0] === 0x6b && bytes[1] === 0x38 && bytes[2] === 0x73 && bytes[3] === 0)
    return fields.nested(bytes);
  try {
    return JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"),
    ) as JsonValue;
  } catch {
    throw malformed("a field that holds raw JSON holds something else");
  }
}
