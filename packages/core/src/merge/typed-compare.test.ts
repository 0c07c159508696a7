import { describe, expect, test } from "vitest";
import type { JsonValue } from "../object.ts";
import { deduced, listType, mapType, scalarType, structType } from "./schema.ts";
import { compareTyped } from "./typed-compare.ts";

const text = scalarType("string");
const type = structType({
  a: text,
  child: structType({ x: text }),
  map: mapType(text),
  atomic: listType(text, "atomic"),
  set: listType(text, "set"),
  items: listType(structType({ k: text, v: text }), { keys: ["k"] }),
  open: deduced,
});
const changes = (before: JsonValue, after: JsonValue) => {
  const { removed, modified, added } = compareTyped(before, after, type);
  return Object.fromEntries(
    Object.entries({ removed, modified, added }).flatMap(([name, set]) =>
      set.isEmpty ? [] : [[name, String(set).split("\n")]],
    ),
  );
};

describe("comparing values of a type", () => {
  test("leaves are added, modified, removed", () => {
    expect(changes({ a: "1" }, { a: "2" })).toEqual({ modified: [".a"] });
    expect(changes({}, { a: "1", atomic: ["x"] })).toEqual({ added: [".a", ".atomic"] });
    expect(changes({ a: "1" }, {})).toEqual({ removed: [".a"] });
  });

  test("a container that comes or goes is named with its content", () => {
    expect(changes({}, { child: { x: "1" }, map: { k: "v" } })).toEqual({
      added: [".child", ".map", ".child.x", ".map.k"],
    });
    expect(changes({ map: { k: "v" } }, {})).toEqual({ removed: [".map", ".map.k"] });
    expect(changes({ map: { k: "v" } }, { map: {} })).toEqual({ removed: [".map.k"] });
  });

  test("empty and null differ, for maps and for lists", () => {
    expect(changes({ map: {} }, { map: null })).toEqual({ modified: [".map"] });
    expect(changes({ set: null }, { set: [] })).toEqual({ modified: [".set"] });
    expect(changes({ map: null }, { map: { k: "v" } })).toEqual({ added: [".map.k"] });
  });

  test("order in sets and keyed lists is no difference, in atomic lists it is", () => {
    expect(
      changes(
        { set: ["a", "b"], items: [{ k: "1" }, { k: "2" }] },
        { set: ["b", "a"], items: [{ k: "2" }, { k: "1" }] },
      ),
    ).toEqual({});
    expect(changes({ atomic: ["a", "b"] }, { atomic: ["b", "a"] })).toEqual({ modified: [".atomic"] });
  });

  test("items are compared by key and value", () => {
    expect(
      changes({ items: [{ k: "1", v: "a" }, { k: "2" }] }, { items: [{ k: "1", v: "b" }, { k: "3" }] }),
    ).toEqual({
      removed: ['.items[k="2"]', '.items[k="2"].k'],
      modified: ['.items[k="1"].v'],
      added: ['.items[k="3"]', '.items[k="3"].k'],
    });
    expect(changes({ set: ["a"] }, { set: ["b"] })).toEqual({
      removed: ['.set[="a"]'],
      added: ['.set[="b"]'],
    });
  });

  test("repeated items are one leaf; becoming one of a kind is a removal and additions", () => {
    const twice = [
      { k: "1", v: "a" },
      { k: "1", v: "b" },
    ];
    expect(changes({ items: twice }, { items: [...twice].reverse() })).toEqual({
      modified: ['.items[k="1"]'],
    });
    expect(changes({ items: twice }, { items: [{ k: "1", v: "a" }] })).toEqual({
      removed: ['.items[k="1"]'],
      added: ['.items[k="1"]', '.items[k="1"].k', '.items[k="1"].v'],
    });
    expect(changes({ set: ["a"] }, { set: ["a", "a"] })).toEqual({
      removed: ['.set[="a"]'],
      added: ['.set[="a"]'],
    });
  });

  test("a value that changes its form is modified, and its new content added", () => {
    expect(changes({ open: "text" }, { open: { b: 1 } })).toEqual({
      modified: [".open"],
      added: [".open.b"],
    });
    expect(changes({ open: { b: 1 } }, { open: [1] })).toEqual({ removed: [".open.b"], modified: [".open"] });
  });

  test("what is the same object is not looked into", () => {
    const same = { k: "1" };
    expect(changes({ items: [same], a: "1" }, { items: [same], a: "1" })).toEqual({});
  });
});
