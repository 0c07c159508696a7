/**
 * Turns a protobuf request body into the JSON that Go would have written for the same object.
 *
 * Go decodes into structs and its JSON follows the struct, not the wire: a value that was not sent is the
 * struct's zero, which `omitempty` may or may not hide. So decoding has two halves here as well: fill slots,
 * one per struct field, then write JSON from the slots by Go's rules.
 */
import type { JsonObject, JsonValue } from "@keelson/core";
import { numberFromDigits } from "@keelson/core/internal";
import { ProtobufError } from "./errors.ts";
import { type Field, type Message, messageNamed, messageOfKind } from "./messages.ts";
import { specialWriter } from "./special-messages.ts";
import { malformed, WireReader, wireTypes } from "./wire.ts";

export interface Decoded {
  readonly apiVersion: string;
  readonly kind: string;
  /** With `kind` and `apiVersion` first, as Go writes it. */
  readonly object: JsonObject;
}

export interface DecodeOptions {
  /** Stand in for what the envelope leaves empty, as the request path does. */
  readonly apiVersion?: string;
  readonly kind?: string;
  /** Messages in the object, those that are absent and stand as zero included. Default 500 000. */
  readonly maxMessages?: number;
  /** Levels of nesting. Default 200. */
  readonly maxDepth?: number;
}

const magic = [0x6b, 0x38, 0x73, 0x00];

/** Whether the bytes begin as Kubernetes' protobuf envelope does. */
export function isProtobuf(bytes: Uint8Array): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}

/**
 * Decodes an enveloped built-in object. Throws ProtobufError and nothing else. Time and memory are linear in
 * the length of the input and bounded by the options.
 */
export function decode(bytes: Uint8Array, options: DecodeOptions = {}): Decoded {
  return new Decoder(options).envelope(bytes, 0);
}

/** A struct that is being filled: one slot per field of its message. */
interface Struct {
  readonly message: Message;
  readonly slots: Slot[];
  /** The bytes it was decoded from had no length at all: Time takes that for its zero. */
  empty: boolean;
}
type Slot = undefined | string | number | bigint | boolean | Uint8Array | Struct | Slot[] | Map<string, Slot>;

class Decoder {
  private remaining: number;
  private readonly maxDepth: number;
  private readonly options: DecodeOptions;

  constructor(options: DecodeOptions) {
    this.options = options;
    this.remaining = options.maxMessages ?? 500_000;
    this.maxDepth = options.maxDepth ?? 200;
  }

  envelope(bytes: Uint8Array, depth: number): Decoded {
    if (!isProtobuf(bytes)) {
      throw new ProtobufError(
        "NotEnveloped",
        "cannot decode protobuf: the body does not begin with the bytes 6b 38 73 00",
      );
    }
    const reader = new WireReader(bytes, magic.length);
    let typeMeta: [string, string] = ["", ""];
    let raw = new Uint8Array();
    while (!reader.done) {
      const tag = reader.uint32();
      if (tag === 0x0a) typeMeta = readTypeMeta(reader.range());
      else if (tag === 0x12) raw = reader.range() as Uint8Array<ArrayBuffer>;
      else if (tag >>> 3 === 0) throw malformed("a field has the number 0");
      else reader.skip(tag & 7);
    }
    const apiVersion = typeMeta[0] || (this.options.apiVersion ?? "");
    const kind = typeMeta[1] || (this.options.kind ?? "");
    const message = messageOfKind(apiVersion, kind);
    if (message === undefined) {
      throw new ProtobufError(
        "UnknownKind",
        `cannot decode protobuf: no built-in kind is ${kind || "unnamed"} of ${apiVersion || "no group-version"}`,
      );
    }
    const struct = this.struct(message, depth);
    this.fill(struct, new WireReader(raw), depth);
    const object: JsonObject = message.isAnonymous ? {} : { kind, apiVersion };
    this.write(struct, object, depth);
    return { apiVersion, kind, object };
  }

  private struct(message: Message, depth: number): Struct {
    if (depth > this.maxDepth)
      throw new ProtobufError(
        "TooLarge",
        `cannot decode protobuf: nested deeper than ${this.maxDepth} levels`,
      );
    if (--this.remaining < 0)
      throw new ProtobufError("TooLarge", "cannot decode protobuf: too many messages in one object");
    return { message, slots: [], empty: true };
  }

  private fill(struct: Struct, reader: WireReader, depth: number): void {
    if (!reader.done) struct.empty = false;
    while (!reader.done) {
      const tag = reader.uint32();
      const number = tag >>> 3;
      const wireType = tag & 7;
      if (number === 0) throw malformed(`${struct.message.name} has a field with the number 0`);
      const field = struct.message.byNumber.get(number);
      if (field === undefined) reader.skip(wireType);
      else if (field.shape === "one") {
        struct.slots[field.index] = this.value(field, wireType, reader, struct.slots[field.index], depth);
      } else if (field.shape === "list") this.append(struct, field, wireType, reader, depth);
      else this.entry(struct, field, wireType, reader, depth);
    }
  }

  private append(struct: Struct, field: Field, wireType: number, reader: WireReader, depth: number): void {
    struct.slots[field.index] ??= [];
    const list = struct.slots[field.index] as Slot[];
    const packable = field.scalar !== undefined && field.scalar !== "s" && field.scalar !== "y";
    if (!packable || wireType !== wireTypes.bytes) {
      list.push(this.value(field, wireType, reader, undefined, depth));
      return;
    }
    const packed = new WireReader(reader.range());
    const inner = field.scalar === "d" ? wireTypes.fixed64 : wireTypes.varint;
    while (!packed.done) list.push(this.value(field, inner, packed, undefined, depth));
  }

  private entry(struct: Struct, field: Field, wireType: number, reader: WireReader, depth: number): void {
    if (wireType !== wireTypes.bytes) throw wrongType(field, wireType);
    struct.slots[field.index] ??= new Map();
    const map = struct.slots[field.index] as Map<string, Slot>;
    const pair = new WireReader(reader.range());
    let key = "";
    let value: Slot;
    while (!pair.done) {
      const tag = pair.uint32();
      if (tag === 0x0a) key = pair.string();
      else if (tag >>> 3 === 2) value = this.value(field, tag & 7, pair, value, depth);
      else if (tag >>> 3 === 0) throw malformed(`an entry of ${field.name} has a field with the number 0`);
      else pair.skip(tag & 7);
    }
    map.set(key, value ?? this.zero(field, depth + 1));
  }

  private value(field: Field, wireType: number, reader: WireReader, before: Slot, depth: number): Slot {
    if (wireType !== wireTypeOf(field)) throw wrongType(field, wireType);
    switch (field.scalar) {
      case "s":
        return reader.string();
      case "y":
        return reader.range();
      case "b":
        return reader.varint() !== 0n;
      case "i":
        return reader.int32();
      case "l":
        return reader.int64();
      case "d":
        return reader.double();
      default: {
        const struct = (before ?? this.struct(messageNamed(field.messageName), depth + 1)) as Struct;
        this.fill(struct, new WireReader(reader.range()), depth + 1);
        return struct;
      }
    }
  }

  /** What a Go value of the field's element type is before anything was decoded into it. */
  private zero(field: Field, depth: number): Slot {
    if (field.scalar === undefined) return this.struct(messageNamed(field.messageName), depth);
    return { s: "", y: new Uint8Array(), b: false, i: 0, l: 0, d: 0 }[field.scalar];
  }

  private write(struct: Struct, object: JsonObject, depth: number): void {
    for (const field of struct.message.fields) {
      let slot = struct.slots[field.index];
      if (field.shape === "one" && slot === undefined && !field.pointer) {
        slot = field.scalar === "y" ? undefined : this.zero(field, depth + 1);
      }
      if (field.inline) {
        if (slot !== undefined) this.write(slot as Struct, object, depth + 1);
      } else if (!isOmitted(field, slot)) object[field.name] = this.json(field, slot, depth);
    }
  }

  private json(field: Field, slot: Slot, depth: number): JsonValue {
    if (slot === undefined) return null;
    if (field.shape === "list") return (slot as Slot[]).map((item) => this.single(item, depth));
    if (field.shape === "one") return this.single(slot, depth);
    const object: JsonObject = {};
    for (const key of [...(slot as Map<string, Slot>).keys()].sort()) {
      const value = this.single((slot as Map<string, Slot>).get(key), depth);
      // A plain assignment to this one name would set the prototype.
      if (key === "__proto__")
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
      else object[key] = value;
    }
    return object;
  }

  private single(slot: Slot, depth: number): JsonValue {
    if (slot instanceof Uint8Array)
      return Buffer.from(slot.buffer, slot.byteOffset, slot.byteLength).toString("base64");
    if (typeof slot === "bigint") return numberFromDigits(String(slot));
    if (typeof slot !== "object")
      return typeof slot === "number" && !Number.isFinite(slot) ? null : (slot ?? null);
    const struct = slot as Struct;
    if (struct.message.isList)
      return this.json(struct.message.fields[0] as Field, struct.slots[0] ?? [], depth + 1);
    const special = specialWriter(struct.message.name);
    if (special === undefined) {
      const object: JsonObject = {};
      this.write(struct, object, depth + 1);
      return object;
    }
    return special({
      empty: struct.empty,
      number: (number) => Number(this.slot(struct, number) ?? 0),
      string: (number) => String(this.slot(struct, number) ?? ""),
      bytes: (number) => (this.slot(struct, number) ?? new Uint8Array()) as Uint8Array,
      present: (number) => this.slot(struct, number) !== undefined,
      json: (number) =>
        this.json(struct.message.byNumber.get(number) as Field, this.slot(struct, number), depth + 1),
      nested: (bytes) => this.envelope(bytes, depth + 1).object,
    });
  }

  private slot(struct: Struct, number: number): Slot {
    return struct.slots[struct.message.byNumber.get(number)?.index ?? -1];
  }
}

/** Go's omitempty and omitzero. A struct is never empty; `omitzero` stands only on times, whose zero is empty bytes. */
function isOmitted(field: Field, slot: Slot): boolean {
  if (field.name === "-") return true;
  if (field.omitZero && typeof slot === "object" && (slot as Struct).empty === true) return true;
  if (!field.omitEmpty) return false;
  if (slot === undefined) return true;
  if (field.pointer) return false;
  if (Array.isArray(slot) || slot instanceof Uint8Array) return slot.length === 0;
  if (slot instanceof Map) return slot.size === 0;
  return slot === "" || slot === 0 || slot === false;
}

function readTypeMeta(bytes: Uint8Array): [apiVersion: string, kind: string] {
  const reader = new WireReader(bytes);
  let apiVersion = "";
  let kind = "";
  while (!reader.done) {
    const tag = reader.uint32();
    if (tag === 0x0a) apiVersion = reader.string();
    else if (tag === 0x12) kind = reader.string();
    else if (tag >>> 3 === 0) throw malformed("a field has the number 0");
    else reader.skip(tag & 7);
  }
  return [apiVersion, kind];
}

function wireTypeOf(field: Field): number {
  switch (field.scalar) {
    case "b":
    case "i":
    case "l":
      return wireTypes.varint;
    case "d":
      return wireTypes.fixed64;
    default:
      return wireTypes.bytes;
  }
}

function wrongType(field: Field, wireType: number): ProtobufError {
  return malformed(`field ${field.name || field.messageName} has the wire type ${wireType}`);
}
