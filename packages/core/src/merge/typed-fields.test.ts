import { describe, expect, test } from "vitest";
import { deepFreeze, parseJson } from "../json.ts";
import type { JsonValue } from "../object.ts";
import { deduced, listType, mapType, scalarType, structType } from "./schema.ts";
import { checkType, fieldsOf } from "./typed-fields.ts";

const text = scalarType("string");
const type = structType({
  a: text,
  n: scalarType("numeric"),
  flag: scalarType("boolean"),
  any: scalarType("untyped"),
  child: structType({ x: text }),
  map: mapType(text),
  atomic: listType(structType({ x: text }), "atomic"),
  set: listType(text, "set"),
  items: listType(structType({ k: text, p: { type: text, default: "TCP" }, v: text }), { keys: ["k", "p"] }),
  open: deduced,
});
const fields = (value: JsonValue) => fieldsOf(value, type).toJson();
const problem = (value: JsonValue, allowDuplicates = false) => {
  try {
    checkType(value, type, { allowDuplicates });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

describe("the fields of a value", () => {
  test("leaves are members; named containers are not, keys of maps and items of lists are", () => {
    expect(
      fields({ a: "1", child: { x: "1" }, map: { k: "v" }, set: ["s"], items: [{ k: "1", v: "2" }] }),
    ).toEqual({
      "f:a": {},
      "f:child": { "f:x": {} },
      "f:map": { "f:k": {} },
      "f:set": { 'v:"s"': {} },
      "f:items": { 'k:{"k":"1","p":"TCP"}': { ".": {}, "f:k": {}, "f:v": {} } },
    });
  });

  test("null and empty maps are members, empty lists that merge are not", () => {
    expect(fields({ child: {}, map: null, set: [], items: null, atomic: [] })).toEqual({
      "f:child": {},
      "f:map": {},
      "f:items": {},
      "f:atomic": {},
    });
  });

  test("what occurs twice is one member without fields", () => {
    expect(
      fields({ set: ["a", "a"], items: [{ k: "1", v: "x" }, { k: "1", p: "TCP" }, { k: "2" }] }),
    ).toEqual({
      "f:set": { 'v:"a"': {} },
      "f:items": { 'k:{"k":"1","p":"TCP"}': {}, 'k:{"k":"2","p":"TCP"}': { ".": {}, "f:k": {} } },
    });
  });

  test("open content: every key of a map is a member", () => {
    expect(fields({ open: { a: { b: 1 }, l: [{}] } })).toEqual({
      "f:open": { "f:a": { ".": {}, "f:b": {} }, "f:l": {} },
    });
  });

  test("an integer beyond 2^53 is a leaf", () => {
    expect(fields(parseJson('{"n":12345678901234567890}'))).toEqual({ "f:n": {} });
    expect(problem(parseJson('{"n":12345678901234567890,"any":12345678901234567890}'))).toBeUndefined();
  });
});

describe("whether a value fits", () => {
  test("what fits, and null anywhere, is no problem", () => {
    expect(
      problem({
        a: "1",
        n: 1.5,
        flag: true,
        any: "x",
        child: null,
        map: { k: null },
        set: null,
        items: [{ k: "1" }],
        atomic: [{ x: "1" }],
      }),
    ).toBeUndefined();
  });

  test.each<[JsonValue, string]>([
    [{ a: 1 }, ".a: expected string, got &value.valueUnstructured{Value:1}"],
    [
      { a: { x: ["y"] } },
      '.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"x":[]interface {}{"y"}}}',
    ],
    [{ n: "1" }, ".n: expected numeric (int or float), got string"],
    [{ n: [] }, ".n: expected numeric (int or float), got []interface {}"],
    [{ flag: "true" }, ".flag: expected boolean, got &{true}"],
    [{ any: {} }, ".any: expected any scalar, got &{map[]}"],
    [{ child: "x" }, ".child: expected map, got &{x}"],
    [{ set: "x" }, ".set: expected list, got &{x}"],
    [{ child: { y: 1 } }, ".child.y: field not declared in schema"],
    [
      { atomic: [{ x: "1" }, { x: 1 }] },
      ".atomic[1].x: expected string, got &value.valueUnstructured{Value:1}",
    ],
    [
      { set: [null] },
      ".set: element 0: associative list without keys has an element that's an explicit null",
    ],
    [{ set: [{}] }, ".set: element 0: associative list without keys has an element that's a map type"],
    [{ set: [[]] }, ".set: element 0: not supported: associative list with lists as elements"],
    [{ items: ["x"] }, ".items: element 0: associative list with keys may not have non-map elements"],
    [
      { items: [{ k: "1", v: 2 }] },
      '.items[k="1",p="TCP"].v: expected string, got &value.valueUnstructured{Value:2}',
    ],
    ["x", "expected map, got &{x}"],
  ])("%j does not", (value, message) => {
    expect(problem(value)).toBe(message);
  });

  test("an item without any of its keys cannot be named", () => {
    const keyed = structType({ items: listType(structType({ k: text, l: text }), { keys: ["l", "k"] }) });
    expect(() => checkType({ items: [{}] }, keyed, { allowDuplicates: true })).toThrow(
      `.items: element 0: associative list with keys has an element that omits all key fields ["l" "k"] (and doesn't have default values for any key fields)`,
    );
  });

  test("duplicates are allowed in what is stored", () => {
    expect(problem({ set: ["a", "a"] }, true)).toBeUndefined();
    expect(problem({ set: ["a", "a"], a: 1 })).toBe(
      'errors:\n  .set: duplicate entries for key [="a"]\n  .a: expected string, got &value.valueUnstructured{Value:1}',
    );
  });

  test("a frozen value that was allowed duplicates is still refused where they are not", () => {
    const value = deepFreeze({ set: ["a", "a"] });
    expect(problem(value, true)).toBeUndefined();
    expect(problem(value, false)).toBe('.set: duplicate entries for key [="a"]');
  });
});
