import { expect, test } from "vitest";
import { compareApiVersions, compareVersionNumbers } from "./version-order.ts";

test("versions of an API come in the order in which the API server prefers them", () => {
  const ordered = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v3beta1",
    "v1beta10",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
  ];
  expect([...ordered].reverse().sort(compareApiVersions)).toEqual(ordered);
});

test("versions of programs come in the order of their numbers", () => {
  const ordered = ["3.4.23", "v3.5", "3.5.9", "3.5.10", "3.5.10-1", "17.2"];
  expect([...ordered].reverse().sort(compareVersionNumbers)).toEqual(ordered);
  expect(compareVersionNumbers("v1.2.0", "1.2")).toBe(0);
});
