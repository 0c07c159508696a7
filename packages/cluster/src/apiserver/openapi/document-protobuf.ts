/**
 * The v2 document in protobuf, for kubectl before 1.30, which reads no other form of it.
 *
 * Definitions are complete; paths are left to the v3 documents, where every such kubectl looks for them.
 */
import type { JsonObject, JsonValue } from "@keelson/core";

/** A message under construction: fields in the order they are added. */
class Message {
  readonly #parts: Uint8Array[] = [];

  string(field: number, value: JsonValue | undefined): this {
    if (typeof value === "string" && value !== "") this.bytes(field, Buffer.from(value));
    return this;
  }

  bool(field: number, value: JsonValue | undefined): this {
    if (value === true) this.#parts.push(varint(field << 3), varint(1));
    return this;
  }

  integer(field: number, value: JsonValue | undefined): this {
    if (typeof value === "number" && value !== 0) this.#parts.push(varint(field << 3), varint(value));
    return this;
  }

  double(field: number, value: JsonValue | undefined): this {
    if (typeof value !== "number" || value === 0) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.#parts.push(varint((field << 3) | 1), bytes);
    return this;
  }

  message(field: number, value: Message | undefined): this {
    if (value) this.bytes(field, value.encode());
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#parts.push(varint((field << 3) | 2), varint(value.length), value);
    return this;
  }

  encode(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

export function encodeDocument(document: JsonObject): Uint8Array {
  const info = document.info as JsonObject;
  const definitions = new Message();
  for (const [name, schema] of Object.entries(document.definitions as Record<string, JsonObject>))
    definitions.message(1, new Message().string(1, name).message(2, encodeSchema(schema)));
  return new Message()
    .string(1, document.swagger)
    .message(2, new Message().string(1, info.title).string(2, info.version))
    .message(8, new Message())
    .message(9, definitions)
    .encode();
}

function encodeSchema(schema: JsonObject): Message {
  const out = new Message()
    .string(1, schema.$ref)
    .string(2, schema.format)
    .string(3, schema.title)
    .string(4, schema.description)
    .double(6, schema.multipleOf)
    .double(7, schema.maximum)
    .bool(8, schema.exclusiveMaximum)
    .double(9, schema.minimum)
    .bool(10, schema.exclusiveMinimum)
    .integer(11, schema.maxLength)
    .integer(12, schema.minLength)
    .string(13, schema.pattern)
    .integer(14, schema.maxItems)
    .integer(15, schema.minItems)
    .bool(16, schema.uniqueItems)
    .integer(17, schema.maxProperties)
    .integer(18, schema.minProperties);
  for (const name of (schema.required as string[] | undefined) ?? []) out.string(19, name);
  for (const value of (schema.enum as JsonValue[] | undefined) ?? []) out.message(20, any(value));
  const { additionalProperties, items, properties } = schema;
  if (typeof additionalProperties === "boolean") out.message(21, new Message().bool(2, additionalProperties));
  else if (additionalProperties)
    out.message(21, new Message().message(1, encodeSchema(additionalProperties as JsonObject)));
  if (schema.type) out.message(22, new Message().string(1, schema.type));
  if (items) out.message(23, new Message().message(1, encodeSchema(items as JsonObject)));
  for (const part of (schema.allOf as JsonObject[] | undefined) ?? []) out.message(24, encodeSchema(part));
  if (properties) {
    const list = new Message();
    for (const [name, property] of Object.entries(properties as Record<string, JsonObject>))
      list.message(1, new Message().string(1, name).message(2, encodeSchema(property)));
    out.message(25, list);
  }
  for (const [key, value] of Object.entries(schema))
    if (key.startsWith("x-")) out.message(31, new Message().string(1, key).message(2, any(value)));
  return out;
}

/** Extensions travel as YAML, of which JSON is a part. */
function any(value: JsonValue): Message {
  return new Message().string(2, JSON.stringify(value));
}
