/** What a subject may grant: never more than it has. */
import type { PolicyRule } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { uncovered } from "./rules.ts";

const rule = (resourceNames?: string[]): PolicyRule => ({
  apiGroups: [""],
  resources: ["secrets"],
  verbs: ["get"],
  ...(resourceNames && { resourceNames }),
});

describe("a subject whose rule names objects", () => {
  const owned = [rule(["a", "b"])];

  test("grants the same objects", () => {
    expect(uncovered(owned, [rule(["b"])])).toEqual([]);
  });

  test("does not grant others", () => {
    expect(uncovered(owned, [rule(["b", "c"])])).toEqual([rule(["c"])]);
  });

  test("does not grant all objects", () => {
    expect(uncovered(owned, [rule()])).toEqual([rule()]);
  });
});

test("a subject without names in its rule grants any of them", () => {
  expect(uncovered([rule()], [rule(["a"]), rule()])).toEqual([]);
});
