/** Two changes of one file become one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mergeJson } from "./merge-json.ts";
import { mergeText } from "./merge-text.ts";

const labels = { ours: "yours", theirs: "keelson 0.2.0" };
const merge = (base: string, ours: string, theirs: string) => mergeText(base, ours, theirs, labels);

describe("text", () => {
  test("changes at different places both stay", () => {
    const base = "one\ntwo\nthree\nfour\nfive\n";
    expect(merge(base, base.replace("one", "ONE"), `${base.replace("four", "FOUR")}six\n`)).toEqual({
      text: "ONE\ntwo\nthree\nFOUR\nfive\nsix\n",
      conflicts: 0,
    });
    expect(merge(base, base.replace("two\n", ""), base.replace("five", "5"))).toEqual({
      text: "one\nthree\nfour\n5\n",
      conflicts: 0,
    });
  });

  test("the same change on both sides is made once", () => {
    expect(merge("a\nb\n", "a\nc\n", "a\nc\n")).toEqual({ text: "a\nc\n", conflicts: 0 });
  });

  test("different changes of one place are marked, as git marks them", () => {
    expect(merge("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n")).toEqual({
      text: "a\n<<<<<<< yours\nours\n=======\ntheirs\n>>>>>>> keelson 0.2.0\nc\n",
      conflicts: 1,
    });
    expect(merge("a", "b", "c").text).toBe("<<<<<<< yours\nb\n=======\nc\n>>>>>>> keelson 0.2.0\n");
  });

  test("a side that changed nothing has no say", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", "c", "d"))
      .map((lines) => lines.map((line) => `${line}\n`).join(""));
    fc.assert(
      fc.property(text, text, (base, changed) => {
        expect(merge(base, changed, base)).toEqual({ text: changed, conflicts: 0 });
        expect(merge(base, base, changed)).toEqual({ text: changed, conflicts: 0 });
        expect(merge(base, changed, changed)).toEqual({ text: changed, conflicts: 0 });
      }),
      { seed: 1, numRuns: 200 },
    );
  });
});

describe("JSON", () => {
  test("fields that each side added stand beside each other, theirs behind their neighbour", () => {
    const base = { scripts: { test: "vitest", check: "tsc" }, files: ["a"] };
    const ours = { scripts: { test: "vitest", check: "tsc", mine: "x" }, files: ["a"] };
    const theirs = { scripts: { test: "vitest", dev: "keelson dev", check: "biome && tsc" }, files: ["a"] };
    const merged = mergeJson(base, ours, theirs);
    expect(merged.conflicts).toEqual([]);
    expect(JSON.stringify(merged.value)).toBe(
      '{"scripts":{"test":"vitest","dev":"keelson dev","check":"biome && tsc","mine":"x"},"files":["a"]}',
    );
  });

  test("a field that one side removed and the other left alone is gone; one that both changed is ours, and named", () => {
    expect(mergeJson({ a: 1, b: 2 }, { b: 2 }, { a: 1, b: 3 })).toEqual({ value: { b: 3 }, conflicts: [] });
    expect(mergeJson({ a: { b: 1 } }, { a: { b: 2 } }, { a: { b: 3 } })).toEqual({
      value: { a: { b: 2 } },
      conflicts: ["a.b"],
    });
    expect(mergeJson({ a: [1] }, { a: [1, 2] }, { a: [0, 1] })).toEqual({
      value: { a: [1, 2] },
      conflicts: ["a"],
    });
  });
});
