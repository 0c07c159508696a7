import { expect, it } from "vitest";
import { templateHash } from "./template-hash.ts";

it("equal recipes have equal digests, whatever the order of their keys", () => {
  const digest = templateHash({ a: 1, b: { c: [1, 2], d: undefined } });
  expect(digest).toMatch(/^[0-9a-f]{12}$/);
  expect(templateHash({ b: { c: [1, 2] }, a: 1 })).toBe(digest);
  expect(templateHash({ b: { c: [2, 1] }, a: 1 })).not.toBe(digest);
});

it("the digest of a recipe never changes, because members would restart", () => {
  expect(templateHash({ version: "3.6.16", image: "etcd", resources: { requests: { cpu: "2" } } })).toBe(
    "4717fac5111b",
  );
});
