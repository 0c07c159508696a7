import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepEqual } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { applyMergePatch } from "./json-merge-patch.ts";

describe("JSON merge patch", () => {
  test.each<[JsonObject, JsonObject, JsonObject]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: ["b"] }, { a: ["c", "d"] }, { a: ["c", "d"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: "c" }, { a: { b: { c: null, d: 1 } } }, { a: { b: { d: 1 } } }],
    [{ a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    [{ a: { b: 1 } }, { a: [1] }, { a: [1] }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  ])("%j with %j is %j", (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });

  test("the server drops nulls from objects in new lists, but not null items", () => {
    expect(applyMergePatch({}, { l: [null, { a: null, b: 1 }] })).toEqual({ l: [null, { b: 1 }] });
  });

  test("a patch that is no object is malformed", () => {
    expect(() => applyMergePatch({}, null)).toThrow(
      expect.objectContaining({ code: "BadPatch", message: "Invalid JSON Patch" }),
    );
    expect(() => applyMergePatch({}, [1])).toThrow(
      "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
    );
  });

  const object = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 2 }), {
    noNullPrototype: true,
  });

  test("applying again changes nothing after the second time, and inputs stay as they were", () => {
    fc.assert(
      fc.property(object, object, (document, patch) => {
        const before = JSON.stringify([document, patch]);
        // The first time may keep nulls in a list that replaces an object.
        const once = applyMergePatch(document as JsonObject, patch as JsonValue);
        const twice = applyMergePatch(once, patch as JsonValue);
        expect(deepEqual(applyMergePatch(twice, patch as JsonValue), twice)).toBe(true);
        expect(JSON.stringify([document, patch])).toBe(before);
      }),
    );
  });
});
