import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, test } from "vitest";
import { patternSize } from "./pattern-size.ts";
import { compilePattern, MatchBudget } from "./regex.ts";
import { Fault } from "./values.ts";

const part = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    ".",
    "\\d",
    "\\pL",
    "[a-z]",
    "[^]x]",
    "[[:alpha:]-]",
    "^",
    "$",
    "\\p{Greek}",
    "\\.",
  ),
);
const repeat = fc.constantFrom("", "*", "+?", "?", "{3}", "{0,30}", "{2,}", "{20}");
const pattern = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    fc.tuple(part, repeat).map(([a, b]) => a + b),
    fc.array(tie("pattern"), { maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { minLength: 2, maxLength: 3 }).map((parts) => `(?:${parts.join("|")})`),
    fc.tuple(tie("pattern"), repeat).map(([inner, times]) => `(${inner})${times}`),
  ),
})).pattern;

describe("the size of a pattern", () => {
  test("is foreseen without compiling it", () => {
    fc.assert(
      fc.property(pattern, (text) => {
        let size: number;
        try {
          size = RE2JS.compile(text).programSize();
        } catch {
          return;
        }
        // Loops, alternatives and captures take an instruction or two beside what they hold.
        expect(size).toBeLessThanOrEqual(3 * patternSize(text) + 10);
      }),
    );
  });

  test("decides whether it is compiled at all", () => {
    for (const text of ["a{1000}".repeat(1000), "[a-z]".repeat(100_000), "((ab{30}){30}c{1000})".repeat(90)])
      expect(compilePattern(text)).toEqual(new Fault("error parsing regexp: expression too large"));
    for (const text of ["((a{0,30}){0,30}x?)+$", "(?:a?){1000}a{1000}", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"])
      expect(compilePattern(text)).not.toBeInstanceOf(Fault);
  });
});

describe("a budget for matches", () => {
  const compiled = (text: string) => compilePattern(text) as RE2JS;

  test("answers while there is time", () => {
    const budget = new MatchBudget(10_000);
    expect(budget.test(compiled("^a+$"), "a".repeat(100_000))).toBe(true);
    expect(budget.test(compiled("^a+$"), `${"a".repeat(100_000)}b`)).toBe(false);
    expect(budget.find(compiled("[a-z]\\d"), "a1 b2 c3", 2)).toEqual(["a1", "b2"]);
  });

  test("has no answer when there is none left", () => {
    const budget = new MatchBudget(0);
    expect(budget.test(compiled("a"), "a")).toBeUndefined();
    expect(budget.find(compiled("a"), "a", 1)).toBeUndefined();
  });

  test("does not begin what would take minutes", () => {
    const budget = new MatchBudget(50);
    expect(budget.test(compiled("(?:a?){1000}a{1000}"), "a".repeat(1_000_000))).toBeUndefined();
  });
});
