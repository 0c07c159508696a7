import { expect, test } from "vitest";
import { changeProblem, rdbFormatOf, supportProblem } from "./version.ts";

test.each([
  ["7.0.15", "7.0", undefined],
  ["7.0", "7.2", undefined],
  ["7.0", "8.0", undefined],
  ["7.4", "8.0", undefined],
  ["8.0", "7.4", "cannot go back"],
  ["7.2", "7.0", "cannot go back"],
  ["7.0", "9.0", "one of Redis 8 first"],
])("from %s to %s", (from, to, expected) => {
  if (expected === undefined) expect(changeProblem(from, to)).toBeUndefined();
  else expect(changeProblem(from, to)).toContain(expected);
});

test("the first version is the first whose append-only files can be restored", () => {
  expect(supportProblem("7.0")).toBeUndefined();
  expect(supportProblem("6.2")).toContain("not supported");
  expect(rdbFormatOf("7.0.15")).toBe(10);
  expect(rdbFormatOf("99.0")).toBeUndefined();
});
