/** Expressions in strings. */
import { describe, expect, test } from "vitest";
import { celOf, onlyCel } from "./text.ts";

describe("a string", () => {
  test.each([
    ["no expression", undefined],
    ["${a.b}", { cel: "a.b", standalone: true }],
    ["x-${a}-${b}", { cel: '"x-" + (a) + "-" + (b)', standalone: false }],
    ['${{"a": {"b": "}"}}}', { cel: '{"a": {"b": "}"}}', standalone: true }],
    ["${json.unmarshal('{\"a\": 1}').a}", { cel: "json.unmarshal('{\"a\": 1}').a", standalone: true }],
    ["${open", undefined],
    ["$HOME and ${a}", { cel: '"$HOME and " + (a)', standalone: false }],
  ])("%s", (text, expected) => {
    const found = celOf(text, []);
    if (expected) expect(found).toMatchObject(expected);
    else expect(found).toBeUndefined();
  });

  test("refuses an expression inside an expression", () => {
    expect(() => celOf("${a + ${b}}", ["spec"])).toThrow("an expression inside an expression");
  });

  test("must be one expression where a condition stands", () => {
    expect(() => onlyCel("a == ${b}", ["spec"])).toThrow("must be one expression");
  });
});
