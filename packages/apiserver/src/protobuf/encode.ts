/**
 * Turns the JSON of a built-in object into Kubernetes' protobuf, byte for byte as Go writes it: fields in the
 * order of their numbers, values that are no pointers always present, maps by key.
 */
import { isRawNumber, type JsonObject, type JsonValue } from "@keelson/core";
import { ProtobufError } from "./errors.ts";
import { type Field, type Message, messageNamed, messageOfKind } from "./messages.ts";
import { specialReader, unfit } from "./special-messages.ts";
import { wireTypes } from "./wire.ts";
import { WireWriter } from "./wire-writer.ts";

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** Whether a kind has a protobuf form: custom resources and tables have none. */
export function canEncode(apiVersion: string, kind: string): boolean {
  return messageOfKind(apiVersion, kind) !== undefined;
}

/**
 * Encodes an object, enveloped, by its apiVersion and kind. Fields that the kind does not have are left out.
 * Throws ProtobufError: UnknownKind, or Unfit when a value has the wrong type.
 */
export function encode(object: JsonObject): Uint8Array {
  const { apiVersion, kind } = object as { apiVersion?: string; kind?: string };
  return Buffer.concat(enveloped(apiVersion ?? "", kind ?? "", encodeItem(object)));
}

/**
 * The object as a list holds it: its message, with the tag of the second field and its length. The envelope of a single
 * object holds it alike, so that one encoding serves every list, watch and answer.
 */
export function encodeItem(object: JsonObject): Buffer {
  const { apiVersion, kind } = object;
  const writer = new WireWriter();
  writeMessage(writer, messageFor(apiVersion, kind), object, String(kind));
  writer.delimit(2, 0);
  return writer.finish();
}

/** An envelope around an item, in pieces. */
export function enveloped(apiVersion: string, kind: string, item: Buffer): Buffer[] {
  return [headOf(apiVersion, kind), item, envelopeEnd];
}

/** A list around its items, in pieces. `list` is all of it but the items. */
export function encodeList(list: JsonObject, items: readonly Buffer[]): Buffer[] {
  const { apiVersion, kind } = list as { apiVersion: string; kind: string };
  const writer = new WireWriter();
  writeMessage(writer, messageFor(apiVersion, kind), list, kind);
  let itemsLength = 0;
  for (const item of items) itemsLength += item.length;
  // The items follow what is written here, and belong to the same field.
  writer.delimit(2, -itemsLength);
  return [headOf(apiVersion, kind), writer.finish(), ...items, envelopeEnd];
}

function messageFor(apiVersion: JsonValue | undefined, kind: JsonValue | undefined): Message {
  const message =
    typeof apiVersion === "string" && typeof kind === "string" ? messageOfKind(apiVersion, kind) : undefined;
  if (message !== undefined) return message;
  throw new ProtobufError(
    "UnknownKind",
    `cannot encode protobuf: no built-in kind is ${kind ?? "unnamed"} of ${apiVersion ?? "no group-version"}`,
  );
}

/** The fields behind the object: its encoding and its media type, both empty. */
const envelopeEnd = Buffer.of(0x1a, 0x00, 0x22, 0x00);

const heads = new Map<string, Buffer>();

/** The magic bytes and the type, which stand before the object. There are as many as there are kinds. */
function headOf(apiVersion: string, kind: string): Buffer {
  const key = `${apiVersion} ${kind}`;
  let head = heads.get(key);
  if (!head) {
    const writer = new WireWriter();
    writeText(writer, 2, kind);
    writeText(writer, 1, apiVersion);
    writer.delimit(1, 0);
    writer.bytes(magic);
    head = writer.finish();
    heads.set(key, head);
  }
  return head;
}

/**
 * One frame of a watch in protobuf: a length, then an event that holds the enveloped object.
 * `object` is encoded already, so that many watchers can share it.
 */
export function encodeWatchFrame(type: string, object: readonly Uint8Array[]): Buffer {
  const writer = new WireWriter();
  for (const piece of object.toReversed()) writer.bytes(piece);
  writer.delimit(1, 0);
  writer.delimit(2, 0);
  writeText(writer, 1, type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(writer.length);
  writer.bytes(length);
  return writer.finish();
}

function writeText(writer: WireWriter, number: number, text: string): void {
  const before = writer.length;
  writer.string(text);
  writer.delimit(number, before);
}

/** Writes the fields of a message, the last one first. */
function writeMessage(writer: WireWriter, message: Message, value: JsonValue, where: string): void {
  const special = specialReader(message.name);
  if (special !== undefined) writeFields(writer, message, special(value, where), where);
  else if (message.isList) writeFields(writer, message, { items: value }, where);
  else if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unfit(where, "an object", value);
  else writeFields(writer, message, value, where);
}

/** `fields` are keyed by JSON name; messages without JSON names (times, …) by field number. */
function writeFields(
  writer: WireWriter,
  message: Message,
  fields: JsonObject | undefined,
  where: string,
): void {
  if (fields === undefined) return;
  for (const field of descending(message)) {
    const name = field.name === "" || field.name === "-" ? String(field.number) : field.name;
    const value = field.inline ? fields : Object.hasOwn(fields, name) ? (fields[name] ?? null) : null;
    if (field.shape === "one") writeOne(writer, field, value, `${where}.${name}`);
    else if (value !== null) writeMany(writer, field, value, `${where}.${name}`);
  }
}

function writeOne(writer: WireWriter, field: Field, value: JsonValue, where: string): void {
  if (value === null && field.pointer) return;
  // Bytes that were never set stay away, unlike every other value that is no pointer.
  if (value === null && field.scalar === "y") return;
  writeValue(writer, field, field.number, value, where);
}

function writeMany(writer: WireWriter, field: Field, value: JsonValue, where: string): void {
  if (field.shape === "list") {
    if (!Array.isArray(value)) throw unfit(where, "a list", value);
    for (let at = value.length - 1; at >= 0; at--)
      writeValue(writer, field, field.number, value[at] ?? null, `${where}[${at}]`);
    return;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unfit(where, "an object", value);
  for (const key of Object.keys(value).sort().reverse()) {
    const before = writer.length;
    writeValue(writer, field, 2, value[key] ?? null, `${where}.${key}`);
    writeText(writer, 1, key);
    writer.delimit(field.number, before);
  }
}

/** A value with its tag; null stands for Go's zero. */
function writeValue(writer: WireWriter, field: Field, number: number, value: JsonValue, where: string): void {
  const before = writer.length;
  const wireType = writeContent(writer, field, value, where);
  if (wireType === wireTypes.bytes) writer.delimit(number, before);
  else writer.tag(number, wireType);
}

const isInteger = /^-?\d+$/;

/** The value alone; answers how it was written. */
function writeContent(writer: WireWriter, field: Field, value: JsonValue, where: string): number {
  switch (field.scalar) {
    case "s":
      if (value !== null && typeof value !== "string") throw unfit(where, "a string", value);
      writer.string(value ?? "");
      return wireTypes.bytes;
    case "y":
      if (value !== null && typeof value !== "string") throw unfit(where, "base64", value);
      writer.bytes(Buffer.from(value ?? "", "base64"));
      return wireTypes.bytes;
    case "b":
      if (value !== null && typeof value !== "boolean") throw unfit(where, "true or false", value);
      writer.varint(value ? 1 : 0);
      return wireTypes.varint;
    case "i":
    case "l":
      if (isRawNumber(value) && isInteger.test(value.rawJSON)) writer.varint(BigInt(value.rawJSON));
      else if (value !== null && !Number.isInteger(value)) throw unfit(where, "an integer", value);
      else writer.varint((value as number | null) ?? 0);
      return wireTypes.varint;
    case "d":
      if (value !== null && typeof value !== "number") throw unfit(where, "a number", value);
      writer.double(value ?? 0);
      return wireTypes.fixed64;
    default: {
      const message = messageNamed(field.messageName);
      writeMessage(writer, message, value ?? zeroOf(message), where);
      return wireTypes.bytes;
    }
  }
}

function zeroOf(message: Message): JsonValue {
  return specialReader(message.name) !== undefined ? null : message.isList ? [] : {};
}

const orders = new WeakMap<Message, readonly Field[]>();
function descending(message: Message): readonly Field[] {
  let order = orders.get(message);
  if (order === undefined) {
    order = [...message.fields].sort((a, b) => b.number - a.number);
    orders.set(message, order);
  }
  return order;
}
