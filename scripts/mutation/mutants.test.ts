import { expect, test } from "vitest";
import { applyMutant, mutantsOf } from "./mutants.ts";

const changesOf = (source: string) =>
  mutantsOf("a.ts", source).map((mutant) => [mutant.change, applyMutant(source, mutant)]);

test("operators, literals and negations", () => {
  expect(changesOf("const a = b === c;")).toEqual([["=== becomes !==", "const a = b !== c;"]]);
  expect(changesOf("const a = b && !c;")).toEqual([
    ["&& becomes ||", "const a = b || !c;"],
    ["!c loses its !", "const a = b && c;"],
  ]);
  expect(changesOf("const a = b ?? [c];")).toEqual([
    ["?? [c] is left out", "const a = b;"],
    ["[c] is empty", "const a = b ?? [];"],
  ]);
  expect(changesOf("const a = { wait: 5, again: true };").map(([, source]) => source)).toEqual([
    "const a = { wait: 6, again: true };",
    "const a = { wait: 5, again: false };",
  ]);
});

test("statements", () => {
  expect(changesOf("if (a) b();")).toEqual([
    ["if (a) is always true", "if (true) b();"],
    ["if (a) is always false", "if (false) b();"],
    ["b() is left out", "if (a) ;"],
  ]);
  expect(changesOf("function f() { return a ? b : c; }").map(([change]) => change)).toEqual([
    "returns undefined for a ? b : c",
    "the branches of a are swapped",
  ]);
});

test("types and texts have none", () => {
  expect(changesOf('type A = { b: true | 5 }; const c: "x" = "y";')).toEqual([]);
});

test("each says where it is", () => {
  expect(mutantsOf("a.ts", "\n\nconst a = 1;\n")[0]).toMatchObject({ file: "a.ts", line: 3 });
});
