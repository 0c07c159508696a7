import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { numberFromDigits } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { applyJsonPatch, type JsonPatchOperation, parseJsonPatch } from "./json-patch.ts";

const patch = (document: JsonObject, ...operations: JsonPatchOperation[]) =>
  applyJsonPatch(document, operations);

describe("JSON patch", () => {
  test("adds, replaces, removes, moves and copies", () => {
    const document = { a: 1, list: [1, 2], o: { x: "y" } };
    expect(patch(document, { op: "add", path: "/b", value: { c: 1 } }).b).toEqual({ c: 1 });
    expect(patch(document, { op: "replace", path: "/a", value: 2 }).a).toBe(2);
    expect(patch(document, { op: "remove", path: "/o/x" }).o).toEqual({});
    expect(patch(document, { op: "move", from: "/o/x", path: "/z" })).toEqual({
      a: 1,
      list: [1, 2],
      o: {},
      z: "y",
    });
    expect(patch(document, { op: "copy", from: "/o", path: "/list/-" }).list).toEqual([1, 2, { x: "y" }]);
    expect(document).toEqual({ a: 1, list: [1, 2], o: { x: "y" } });
  });

  test("a copy does not share with what it was copied from", () => {
    const result = patch(
      { a: { x: 1 } },
      { op: "copy", from: "/a", path: "/b" },
      { op: "replace", path: "/b/x", value: 2 },
    );
    expect(result).toEqual({ a: { x: 1 }, b: { x: 2 } });
  });

  test("a number that JavaScript cannot hold has nothing below it", () => {
    const value = numberFromDigits("9007199254740993");
    const replaced = { op: "replace", path: "/a", value } as const;
    expect(() => patch({ a: {} }, replaced, { op: "add", path: "/a/b", value: 1 })).toThrow(
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    );
    expect(() => patch({ a: {} }, { op: "replace", path: "", value })).toThrow("must be object or array");
  });

  test("copies that double the document each time are refused before they fill the memory", () => {
    const doubling = Array.from({ length: 64 }, () => ({ op: "copy", from: "/a", path: "/a/-" }));
    expect(() => patch({ a: ["x".repeat(1000)] }, ...doubling)).toThrow(
      /^Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728$/,
    );
  });

  test("copies add up over a patch, in bytes", () => {
    const text = "é".repeat(512 * 1024 - 1);
    const copies = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ op: "copy", from: "/a", path: `/b${i}` }));
    expect(Object.keys(patch({ a: text }, ...copies(3)))).toHaveLength(4);
    expect(() => patch({ a: text }, ...copies(4))).toThrow("exceeding the limit");
  });

  test("list positions: inside, at the end by number, at the end by dash, from behind", () => {
    const add = (path: string) => patch({ l: [1, 2] }, { op: "add", path, value: 9 }).l;
    expect(add("/l/0")).toEqual([9, 1, 2]);
    expect(add("/l/2")).toEqual([1, 2, 9]);
    expect(add("/l/-")).toEqual([1, 2, 9]);
    expect(add("/l/-1")).toEqual([1, 2, 9]);
    expect(patch({ l: [1, 2] }, { op: "remove", path: "/l/-1" }).l).toEqual([1]);
  });

  test("escapes in pointers", () => {
    const result = patch(
      { "a/b": 1, "c~d": 2 },
      { op: "remove", path: "/a~1b" },
      { op: "replace", path: "/c~0d", value: 3 },
    );
    expect(result).toEqual({ "c~d": 3 });
    expect(patch({ "~1": 1 }, { op: "remove", path: "/~01" })).toEqual({});
  });

  test("the server replaces a key that is not there, and takes null for a missing one", () => {
    expect(patch({}, { op: "replace", path: "/a", value: 1 })).toEqual({ a: 1 });
    expect(patch({}, { op: "test", path: "/a", value: null })).toEqual({});
    expect(patch({}, { op: "add", path: "/a" } as JsonPatchOperation)).toEqual({ a: null });
  });

  test("the empty pointer replaces and tests the whole document", () => {
    expect(
      patch(
        { a: 1 },
        { op: "test", path: "", value: { a: 1 } },
        { op: "replace", path: "", value: { b: 2 } },
      ),
    ).toEqual({ b: 2 });
  });

  test.each<[string, JsonObject, JsonPatchOperation]>([
    ["a failed test", { a: 1 }, { op: "test", path: "/a", value: 2 }],
    ["a test of another type", { a: "1" }, { op: "test", path: "/a", value: 1 }],
    ["a path through what is not there", {}, { op: "add", path: "/a/b", value: 1 }],
    ["a path through a scalar", { a: 1 }, { op: "add", path: "/a/b", value: 1 }],
    ["removing what is not there", {}, { op: "remove", path: "/a" }],
    ["an index past the end", { l: [] }, { op: "add", path: "/l/1", value: 1 }],
    ["an index that is none", { l: [1] }, { op: "replace", path: "/l/x", value: 1 }],
    ["replacing past the end", { l: [1] }, { op: "replace", path: "/l/1", value: 1 }],
    ["a path without a slash", { a: 1 }, { op: "remove", path: "a" }],
    ["an unknown operation", { a: 1 }, { op: "fly", path: "/a" }],
    ["an inherited name as operation", { a: 1 }, { op: "constructor", path: "/a" }],
    ["a missing path", { a: 1 }, { op: "remove" } as unknown as JsonPatchOperation],
    ["a missing from", { a: 1 }, { op: "move", path: "/b" }],
    ["a list in place of the document", { a: 1 }, { op: "replace", path: "", value: [] }],
  ])("%s fails the whole patch", (_name, document, operation) => {
    expect(() => patch(document, { op: "add", path: "/z", value: 1 }, operation)).toThrow(
      expect.objectContaining({ code: "PatchFailed" }),
    );
    expect(document).not.toHaveProperty("z");
  });

  test("what is not a list of operations is malformed", () => {
    for (const [given, what] of [
      [{ op: "add" }, "object"],
      ["x", "string"],
      [1, "number"],
      [true, "bool"],
    ] as [JsonValue, string][]) {
      expect(() => parseJsonPatch(given)).toThrow(
        expect.objectContaining({
          code: "BadPatch",
          message: `error decoding patch: json: cannot unmarshal ${what} into Go value of type []handlers.jsonPatchOp`,
        }),
      );
    }
    expect(() => parseJsonPatch([1])).toThrow(
      "cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    );
    expect(() => parseJsonPatch([{ op: 1 }])).toThrow("into Go struct field jsonPatchOp.op of type string");
  });

  test("a key named __proto__ is data", () => {
    const result = patch({}, { op: "add", path: "/__proto__", value: { polluted: 1 } });
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":1}}');
  });

  test("adding and removing again leaves the document as it was", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.string(),
        fc.jsonValue(),
        (document, key, value) => {
          fc.pre(!Object.hasOwn(document, key));
          const path = `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          const result = patch(
            document as JsonObject,
            { op: "add", path, value: value as JsonValue },
            { op: "remove", path },
          );
          expect(JSON.stringify(result)).toBe(JSON.stringify(document));
        },
      ),
    );
  });
});
