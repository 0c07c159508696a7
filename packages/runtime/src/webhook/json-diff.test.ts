import { applyJsonPatch } from "@keelson/core/internal/merge";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonDiff } from "./json-diff.ts";

test("a patch leads from any object to any other, and is empty between equal ones", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = jsonDiff(before as never, after as never);
      const plain = (value: unknown) => structuredClone(value) as never;
      expect(applyJsonPatch(plain(before), plain(patch))).toEqual(plain(after));
      expect(jsonDiff(before as never, plain(before))).toEqual([]);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test("a patch touches only what differs", () => {
  expect(jsonDiff({ a: { "b/c": 1, d: [1, 2] } }, { a: { "b/c": 2, d: [1, 3], e: "x" } })).toEqual([
    { op: "replace", path: "/a/b~1c", value: 2 },
    { op: "replace", path: "/a/d/1", value: 3 },
    { op: "add", path: "/a/e", value: "x" },
  ]);
});
