import { newAuthority } from "@keelson/kit";
import { expect, test } from "vitest";
import { unitedBundle } from "./certificates.ts";

test("a bundle that is united with what it grew to stays as it is", () => {
  const [old, next] = ["a", "b"].map((name) => newAuthority(name, { nowMs: 0 }).certificate) as [
    string,
    string,
  ];
  const both = unitedBundle(next, old);
  expect(both.match(/BEGIN/g)).toHaveLength(2);
  expect(unitedBundle(next, both)).toBe(both);
  expect(unitedBundle(next, next)).toBe(unitedBundle(next));
});
