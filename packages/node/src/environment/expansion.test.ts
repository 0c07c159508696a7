import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expand } from "./expansion.ts";

describe("$(NAME)", () => {
  const values = { A: "1", B: "$(A)" };

  test.each([
    ["$(A)", "1"],
    ["x$(A)y$(A)", "x1y1"],
    ["$(B)", "$(A)"],
    ["$(NOPE)", "$(NOPE)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$1"],
    ["$A $", "$A $"],
    ["$(A", "$(A"],
    ["$()", "$()"],
    ["", ""],
  ])("%j becomes %j", (text, result) => expect(expand(text, values)).toBe(result));

  test("text without a dollar stays as it is", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes("$")),
        (text) => expand(text, values) === text,
      ),
    );
  });

  test("what is escaped comes out as it was before escaping", () => {
    fc.assert(fc.property(fc.string(), (text) => expand(text.replaceAll("$", "$$$$"), values) === text));
  });
});
