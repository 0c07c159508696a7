/** SimpleSchema: what becomes of types and markers, and what is refused. */
import type { JsonObject } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { structuralSchema } from "./simple-schema.ts";

function schema(spec: JsonObject, types: JsonObject = {}) {
  return structuralSchema({ spec, types, specPath: ["spec"], typesPath: ["types"] });
}

const field = (text: string) => schema({ it: text }).properties?.["it"];

describe("types", () => {
  test.each([
    ["string", { type: "string" }],
    ["integer", { type: "integer" }],
    ["boolean", { type: "boolean" }],
    ["float", { type: "number" }],
    ["object", { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
    ["[]string", { type: "array", items: { type: "string" } }],
    ["map[string]integer", { type: "object", additionalProperties: { type: "integer" } }],
    [
      "[]map[string]string",
      { type: "array", items: { type: "object", additionalProperties: { type: "string" } } },
    ],
  ])("%s", (text, expected) => {
    expect(field(text)).toEqual(expected);
  });

  test("an object inside gets an empty default when its fields have defaults and none is required", () => {
    expect(schema({ a: { b: "integer | default=1" } }).properties?.["a"]).toMatchObject({ default: {} });
    expect(
      schema({ a: { b: "integer | default=1", c: "string | required=true" } }).properties?.["a"],
    ).toEqual({
      type: "object",
      properties: { b: { type: "integer", default: 1 }, c: { type: "string" } },
      required: ["c"],
    });
  });

  test("a custom type stands for its fields, with its markers, and may be required by itself", () => {
    const types = {
      Port: "integer | default=80 minimum=1",
      Name: "string | required=true",
      Server: { name: "Name", port: "Port" },
    };
    expect(schema({ servers: "[]Server", own: "Name" }, types)).toEqual({
      type: "object",
      properties: {
        servers: {
          type: "array",
          items: {
            type: "object",
            properties: { name: { type: "string" }, port: { type: "integer", default: 80, minimum: 1 } },
            required: ["name"],
          },
        },
        own: { type: "string" },
      },
      required: ["own"],
    });
  });
});

describe("markers", () => {
  test.each([
    [
      'string | default="a b" description="says \\"hello\\""',
      { type: "string", default: "a b", description: 'says "hello"' },
    ],
    ["integer | minimum=1 maximum=10", { type: "integer", minimum: 1, maximum: 10 }],
    ['string | enum="a, b"', { type: "string", enum: ["a", "b"] }],
    ["integer | enum=1,2", { type: "integer", enum: [1, 2] }],
    [
      'string | pattern="^[a-z]+$" minLength=1 maxLength=9',
      { type: "string", pattern: "^[a-z]+$", minLength: 1, maxLength: 9 },
    ],
    [
      '[]string | default=["a", "b"] minItems=1',
      { type: "array", items: { type: "string" }, default: ["a", "b"], minItems: 1 },
    ],
    [
      "[]string | uniqueItems=true",
      { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    ],
    [
      "string | immutable=true",
      {
        type: "string",
        "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "field is immutable" }],
      },
    ],
    [
      'integer | validation="self % 2 == 0"',
      {
        type: "integer",
        "x-kubernetes-validations": [{ rule: "self % 2 == 0", message: "validation failed" }],
      },
    ],
  ])("%s", (text, expected) => {
    expect(field(text)).toEqual(expected);
  });
});

test.each([
  ["Unheard", "spec.it: there is no type Unheard"],
  ["map[int]string", "spec.it: map[int]string is no map type"],
  ["string | colour=red", 'spec.it: there is no marker "colour"'],
  ["integer | default=many", 'spec.it: "many" is no whole number'],
  ['string | default="a', "spec.it: a quote is not closed"],
  ["integer | pattern=x", "spec.it: pattern is for type string, not for integer"],
  ["boolean | enum=true", "spec.it: enum is for type string and integer, not for boolean"],
  ["[]string | listMapKey=a", "spec.it: listMapKey needs listType=map"],
  ["string | ", "spec.it: a marker is missing behind the bar"],
])("%s is refused in one sentence", (text, sentence) => {
  expect(() => field(text)).toThrow(sentence);
});

test("types that contain each other are refused", () => {
  expect(() => schema({ a: "A" }, { A: { b: "B" }, B: { a: "[]A" } })).toThrow(
    "types contain each other in a circle: A → B → A",
  );
});
