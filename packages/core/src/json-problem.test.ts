import { describe, expect, test } from "vitest";
import { parseJson } from "./json.ts";
import { isSameJson, jsonProblem } from "./json-problem.ts";

class Money {
  readonly amount = 1;
}

describe("what JSON cannot carry", () => {
  test.each([
    [{ spec: { a: new Map() } }, "spec.a is a Map, which JSON cannot carry; write Object.fromEntries(map)"],
    [{ spec: { a: [1, new Set()] } }, "spec.a[1] is a Set, which JSON cannot carry; write [...set]"],
    [{ at: new Date(0) }, "at is a Date, which JSON cannot carry; write date.toISOString()"],
    [
      { data: Buffer.from("x") },
      'data is a Buffer, which JSON cannot carry; write buffer.toString("base64")',
    ],
    [{ price: new Money() }, "price is a Money, which JSON cannot carry; write a plain object"],
    [{ run: () => {} }, "run is a function, which JSON cannot carry"],
    [{ size: 3n }, "size is a bigint, which JSON cannot carry"],
    [{ mark: Symbol("x") }, "mark is a symbol, which JSON cannot carry"],
    [{ size: Number.NaN }, "size is NaN, and JSON has no such number"],
    [
      { args: ["a", undefined] },
      "args[1] is undefined, which JSON cannot carry; leave it out, or write null",
    ],
  ])("is named by its path: %o", (value, sentence) => {
    expect(jsonProblem(value, "")).toBe(sentence);
  });

  test("is nothing in plain values, absent ones and numbers of any size", () => {
    const plain = { a: [1, "x", null, { b: true }], absent: undefined, none: Object.create(null) };
    expect(jsonProblem(plain, "")).toBeUndefined();
    expect(jsonProblem(parseJson('{"big": 12345678901234567890}'), "")).toBeUndefined();
    expect(jsonProblem(structuredClone(plain), "")).toBeUndefined();
  });
});

describe("a value that equals one that was looked at", () => {
  const checked = { a: [1, "x", null, { b: true }], none: {}, list: [] };

  test("is the same, whatever the order of its keys and what it leaves out", () => {
    expect(isSameJson(structuredClone(checked), checked)).toBe(true);
    expect(
      isSameJson({ list: [], none: {}, a: [1, "x", null, { b: true }], absent: undefined }, checked),
    ).toBe(true);
  });

  test.each([
    { ...checked, more: 1 },
    { a: checked.a, none: {} },
    { ...checked, a: [1, "x", null, { b: false }] },
    { ...checked, a: [1, "x", null] },
    { ...checked, none: [] },
    { ...checked, list: {} },
    { ...checked, none: null },
    // What JSON cannot carry and other comparisons take for empty.
    { ...checked, none: new Map() },
    { ...checked, none: new Date(0) },
    { ...checked, a: [Number.NaN, "x", null, { b: true }] },
  ])("is not the same where it differs: %o", (value) => {
    expect(isSameJson(value, checked)).toBe(false);
  });
});
