import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../object.ts";
import { deduced, listType, mapType, scalarType, structType } from "./schema.ts";
import { mergeTyped } from "./typed-merge.ts";

const text = scalarType("string");
const type = structType({
  a: text,
  map: mapType(text),
  solid: mapType(text, "atomic"),
  atomic: listType(text, "atomic"),
  set: listType(text, "set"),
  items: listType(structType({ k: text, v: text, w: text }), { keys: ["k"] }),
  open: deduced,
});
const merge = (live: JsonValue, config: JsonValue) => mergeTyped(live, config, type);
const order = (live: string, config: string) =>
  ((merge({ set: [...live] }, { set: [...config] }) as JsonObject).set as string[]).join("");

describe("laying a configuration over an object", () => {
  test("leaves of the configuration win, nothing is removed", () => {
    expect(
      merge(
        { a: "1", map: { x: "1", y: "1" }, solid: { x: "1" }, atomic: ["a"] },
        { map: { y: "2" }, solid: { z: "1" }, atomic: [] },
      ),
    ).toEqual({
      a: "1",
      map: { x: "1", y: "2" },
      solid: { z: "1" },
      atomic: [],
    });
  });

  test("null replaces a leaf, but not content that merges", () => {
    expect(
      merge(
        { a: "1", map: { x: "1" }, set: ["a"], solid: { x: "1" } },
        { a: null, map: null, set: null, solid: null },
      ),
    ).toEqual({
      a: null,
      map: { x: "1" },
      set: ["a"],
      solid: null,
    });
    expect(merge({ map: {} }, { map: null })).toEqual({ map: null });
  });

  test("items merge by key", () => {
    expect(merge({ items: [{ k: "1", v: "a" }] }, { items: [{ k: "1", w: "b" }, { k: "2" }] })).toEqual({
      items: [{ k: "1", v: "a", w: "b" }, { k: "2" }],
    });
  });

  test.each([
    ["abc", "abc", "abc"],
    ["abc", "", "abc"],
    ["", "abc", "abc"],
    ["ab", "cd", "abcd"],
    ["abcd", "xb", "axbcd"],
    ["abcd", "dxa", "bcdxa"],
    ["abcd", "ca", "bcda"],
    ["abcdef", "fxb", "acdefxb"],
  ])("%s with %s is %s", (live, config, result) => {
    expect(order(live, config)).toBe(result);
  });

  test("items that occur twice in the object stay, and are replaced by one that is applied", () => {
    expect(order("aba", "c")).toBe("abac");
    expect(
      merge(
        {
          items: [
            { k: "1", v: "a" },
            { k: "1", v: "b" },
          ],
        },
        { items: [{ k: "1", w: "c" }] },
      ),
    ).toEqual({ items: [{ k: "1", w: "c" }] });
  });

  test("content of another form is replaced", () => {
    expect(merge({ open: { a: 1 } }, { open: [1] })).toEqual({ open: [1] });
    expect(merge({ open: [1] }, { open: { a: { b: 1 } } })).toEqual({ open: { a: { b: 1 } } });
  });

  test("what does not change is the object itself, down to its parts", () => {
    const live = { a: "1", map: { x: "1" }, items: [{ k: "1", v: "a" }], open: { deep: [1, { x: 2 }] } };
    expect(merge(live, { items: [{ k: "1" }], open: { deep: [1, { x: 2 }] }, map: {} })).toBe(live);
    const merged = merge(live, { map: { x: "2" } }) as JsonObject;
    expect(merged.items).toBe(live.items);
    expect(live.map).toEqual({ x: "1" });
  });
});
