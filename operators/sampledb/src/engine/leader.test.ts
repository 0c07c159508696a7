import { expect, test } from "vitest";
import { leaderOf } from "./leader.ts";

const none = "0".repeat(40);
const server = (role: "primary" | "replica", replicationId: string, secondReplicationId = none) => ({
  facts: { role, replicationId, secondReplicationId },
});

test("the only primary leads", () => {
  const primary = server("primary", "a");
  expect(leaderOf([server("replica", "a"), primary])).toBe(primary);
  expect(leaderOf([server("replica", "a")])).toBeUndefined();
});

test("of two primaries the one leads that went on from the other's history", () => {
  const [old, next] = [server("primary", "a"), server("primary", "b", "a")];
  expect(leaderOf([old, next])).toBe(next);
  expect(leaderOf([next, old])).toBe(next);
});

test("two primaries without a common history cannot be told apart", () => {
  expect(leaderOf([server("primary", "a"), server("primary", "b")])).toBeUndefined();
});
