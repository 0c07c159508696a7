/**
 * OpenAPI v2 documents in protobuf: kubectl up to 1.27 and some controllers accept nothing else.
 *
 * Each message is a table of field number, key in the JSON document and how the value is written; keys that
 * begin with `x-` go to the field that a table names for them. Zero values stay away, as proto3 wants.
 */
import type { JsonObject, JsonValue } from "@keelson/core";
import { wireTypes } from "./wire.ts";
import { WireWriter } from "./wire-writer.ts";

/** Media type of the encoded document. */
export const openApiV2MediaType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

type Write = (writer: WireWriter, number: number, value: JsonValue) => void;
type Table = readonly (readonly [number: number, key: string, write: Write])[];

/** Encodes a complete document, custom resources included. Keys that no table has are left out. */
export function encodeOpenApiV2(document: JsonObject): Uint8Array {
  const writer = new WireWriter();
  writeTable(writer, documentTable, document);
  return writer.finish();
}

function writeTable(writer: WireWriter, table: Table, object: JsonObject): void {
  for (let at = table.length - 1; at >= 0; at--) {
    const [number, key, write] = table[at] as Table[number];
    if (key === "x-") writeExtensions(writer, number, object);
    else if (Object.hasOwn(object, key)) write(writer, number, object[key] as JsonValue);
  }
}

const text: Write = (writer, number, value) => {
  if (value === "") return;
  const before = writer.length;
  writer.string(String(value));
  writer.delimit(number, before);
};

const flag: Write = (writer, number, value) => {
  if (value !== true) return;
  writer.varint(1);
  writer.tag(number, wireTypes.varint);
};

const integer: Write = (writer, number, value) => {
  if (typeof value !== "number" || value === 0) return;
  writer.varint(value);
  writer.tag(number, wireTypes.varint);
};

const decimal: Write = (writer, number, value) => {
  if (typeof value !== "number" || value === 0) return;
  writer.double(value);
  writer.tag(number, wireTypes.fixed64);
};

/** Any JSON, as the YAML that it also is. */
const any: Write = (writer, number, value) => {
  const before = writer.length;
  text(writer, 2, `${JSON.stringify(value)}\n`);
  writer.delimit(number, before);
};

function repeated(write: Write): Write {
  return (writer, number, value) => {
    if (!Array.isArray(value)) return;
    for (let at = value.length - 1; at >= 0; at--) write(writer, number, value[at] as JsonValue);
  };
}

function message(table: () => Table): Write {
  return (writer, number, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    const before = writer.length;
    writeTable(writer, table(), value);
    writer.delimit(number, before);
  };
}

/** A message around the value, in its field of that number. */
function wrapped(inner: number, write: Write): Write {
  return (writer, number, value) => {
    const before = writer.length;
    write(writer, inner, value);
    writer.delimit(number, before);
  };
}

/** An object as repeated pairs of name and value. */
function named(write: Write): Write {
  return (writer, number, value) => {
    for (const [name, entry] of Object.entries(value ?? {}).reverse()) {
      const before = writer.length;
      write(writer, 2, entry as JsonValue);
      text(writer, 1, name);
      writer.delimit(number, before);
    }
  };
}

function writeExtensions(writer: WireWriter, number: number, object: JsonObject): void {
  const extensions = Object.entries(object).filter(([key]) => key.startsWith("x-"));
  named(any)(writer, number, Object.fromEntries(extensions));
}

/** One alternative of several, chosen by looking at the value. */
function choice(choose: (value: JsonValue) => readonly [number: number, write: Write]): Write {
  return (writer, number, value) => wrapped(...choose(value))(writer, number, value);
}

const isReference = (value: JsonValue): boolean =>
  typeof value === "object" && value !== null && "$ref" in value;

const reference = message(() => [
  [1, "$ref", text],
  [2, "description", text],
]);
const schema = message(() => schemaTable);
const properties: Write = wrapped(1, named(schema));
const list: Write = (writer, number, value) =>
  repeated(schema)(writer, number, Array.isArray(value) ? value : [value]);
const texts: Write = (writer, number, value) =>
  repeated(text)(writer, number, Array.isArray(value) ? value : [value]);

const schemaTable: Table = [
  [1, "$ref", text],
  [2, "format", text],
  [3, "title", text],
  [4, "description", text],
  [5, "default", any],
  [6, "multipleOf", decimal],
  [7, "maximum", decimal],
  [8, "exclusiveMaximum", flag],
  [9, "minimum", decimal],
  [10, "exclusiveMinimum", flag],
  [11, "maxLength", integer],
  [12, "minLength", integer],
  [13, "pattern", text],
  [14, "maxItems", integer],
  [15, "minItems", integer],
  [16, "uniqueItems", flag],
  [17, "maxProperties", integer],
  [18, "minProperties", integer],
  [19, "required", repeated(text)],
  [20, "enum", repeated(any)],
  [21, "additionalProperties", choice((value) => (typeof value === "boolean" ? [2, flag] : [1, schema]))],
  [22, "type", wrapped(1, texts)],
  [23, "items", wrapped(1, list)],
  [24, "allOf", repeated(schema)],
  [25, "properties", properties],
  [31, "x-", any],
];

const queryTable: Table = [
  [1, "required", flag],
  [2, "in", text],
  [3, "description", text],
  [4, "name", text],
  [6, "type", text],
  [7, "format", text],
  [20, "uniqueItems", flag],
];

const pathTable: Table = [
  [1, "required", flag],
  [2, "in", text],
  [3, "description", text],
  [4, "name", text],
  [5, "type", text],
  [6, "format", text],
  [19, "uniqueItems", flag],
];

const bodyTable: Table = [
  [1, "description", text],
  [2, "name", text],
  [3, "in", text],
  [4, "required", flag],
  [5, "schema", schema],
];

const plainParameter = choice((value) =>
  (value as JsonObject).in === "path" ? [4, message(() => pathTable)] : [3, message(() => queryTable)],
);
const parameter = choice((value) =>
  (value as JsonObject).in === "body" ? [1, message(() => bodyTable)] : [2, plainParameter],
);
const parameterItem = choice((value) => (isReference(value) ? [2, reference] : [1, parameter]));

const response = message(() => [
  [1, "description", text],
  [2, "schema", wrapped(1, schema)],
]);

const requirement = wrapped(1, named(wrapped(1, repeated(text))));

const operation = message(() => [
  [1, "tags", repeated(text)],
  [2, "summary", text],
  [3, "description", text],
  [5, "operationId", text],
  [6, "produces", repeated(text)],
  [7, "consumes", repeated(text)],
  [8, "parameters", repeated(parameterItem)],
  [9, "responses", wrapped(1, named(wrapped(1, response)))],
  [10, "schemes", repeated(text)],
  [11, "deprecated", flag],
  [13, "x-", any],
]);

const pathItem = message(() => [
  [2, "get", operation],
  [3, "put", operation],
  [4, "post", operation],
  [5, "delete", operation],
  [6, "options", operation],
  [7, "head", operation],
  [8, "patch", operation],
  [9, "parameters", repeated(parameterItem)],
  [10, "x-", any],
]);

const documentTable: Table = [
  [1, "swagger", text],
  [
    2,
    "info",
    message(() => [
      [1, "title", text],
      [2, "version", text],
    ]),
  ],
  [8, "paths", wrapped(2, named(pathItem))],
  [9, "definitions", properties],
  [10, "parameters", wrapped(1, named(parameter))],
  [12, "security", repeated(requirement)],
  [
    13,
    "securityDefinitions",
    wrapped(
      1,
      named(
        wrapped(
          2,
          message(() => [
            [1, "type", text],
            [2, "name", text],
            [3, "in", text],
            [4, "description", text],
          ]),
        ),
      ),
    ),
  ],
];
