import fc from "fast-check";
import { expect, test } from "vitest";
import { IndexSet } from "./indexes.ts";

const indexes = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40 });

test("neighbours are written one by one, more of them as a range", () => {
  expect(IndexSet.of([0, 1, 2, 5, 7, 8]).toString()).toBe("0-2,5,7,8");
  expect(IndexSet.of([]).toString()).toBe("");
});

test("what is written can be read again", () => {
  fc.assert(
    fc.property(indexes, (list) => {
      const text = IndexSet.of(list).toString();
      expect(IndexSet.parse(text, 61).toString()).toBe(text);
    }),
  );
});

test("a set has what was put in, and nothing else", () => {
  fc.assert(
    fc.property(indexes, indexes, (a, b) => {
      const both = IndexSet.of(a).union(IndexSet.of(b));
      expect(both.size).toBe(new Set([...a, ...b]).size);
      for (let index = 0; index <= 60; index++)
        expect(both.has(index)).toBe(a.includes(index) || b.includes(index));
      expect(IndexSet.of(a).common(IndexSet.of(b))).toBe(a.filter((index) => b.includes(index)).length);
    }),
  );
});

test("indexes beyond the completions and words that are none are left out", () => {
  expect(IndexSet.parse("0-2,x,5-9,12", 7).toString()).toBe("0-2,5,6");
});

test("the first that are missing are found in order", () => {
  expect(IndexSet.of([0, 2, 3]).missing(3, 6)).toEqual([1, 4, 5]);
  expect(IndexSet.of([0, 2, 3]).missing(1, 6)).toEqual([1]);
});
