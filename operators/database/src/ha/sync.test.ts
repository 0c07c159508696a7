import { expect, test } from "vitest";
import type { Quorum } from "./quorum.ts";
import type { Policy } from "./state.ts";
import { nextSync, type SyncView, standbyNames, targetQuorum } from "./sync.ts";

const three: Quorum = { members: ["a", "b", "c"], acks: 2 };
const pair: Quorum = { members: ["a", "b"], acks: 2 };
const view = (change: Partial<SyncView>): SyncView => ({
  me: "a",
  published: [three],
  applied: three,
  effective: true,
  mark: undefined,
  standbys: [],
  target: three,
  ...change,
});
const streaming = (name: string, flushed: number) => ({
  name,
  streaming: true,
  flushed: BigInt(flushed),
  counted: true,
});

test("does nothing when everything is as it should be", () => {
  expect(nextSync(view({}))).toEqual({ action: "none" });
});

test("publishes a new promise beside the old one before PostgreSQL follows it", () => {
  expect(nextSync(view({ target: pair }))).toEqual({ action: "publish", quorums: [three, pair] });
  expect(nextSync(view({ published: [three, pair], target: pair }))).toEqual({
    action: "apply",
    quorum: pair,
  });
});

test("keeps the old promise until everything before is where the new one says", () => {
  const joint = { published: [three, pair], target: pair, applied: pair };
  expect(nextSync(view({ ...joint, effective: false }))).toEqual({ action: "none" });
  expect(nextSync(view(joint))).toEqual({ action: "mark" });
  expect(nextSync(view({ ...joint, mark: 10n, standbys: [streaming("b", 9)] }))).toEqual({ action: "none" });
  expect(nextSync(view({ ...joint, mark: 10n, standbys: [streaming("b", 10)] }))).toEqual({
    action: "publish",
    quorums: [pair],
  });
});

test("adds a third promise when another standby is lost meanwhile", () => {
  const other: Quorum = { members: ["a", "c"], acks: 2 };
  expect(nextSync(view({ published: [three, pair], applied: pair, target: other }))).toEqual({
    action: "publish",
    quorums: [three, pair, other],
  });
});

const policy = (change: Partial<Policy>): Policy => ({
  instances: ["a", "b", "c"],
  durability: "quorum",
  initialInstance: "a",
  parameters: {},
  maximumLagBytes: 0,
  ...change,
});

test.each([
  ["both standbys stream", policy({}), ["b", "c"], ["a", "b", "c"], 2],
  ["one standby is gone", policy({}), ["b"], ["a", "b"], 2],
  ["no standby is left: commits wait for whom they waited before", policy({}), [], ["a", "b", "c"], 2],
  ["commits wait for nobody", policy({ durability: "async" }), ["b", "c"], ["a"], 1],
  [
    "commits wait for all, also for one that is gone",
    policy({ durability: "all" }),
    ["b"],
    ["a", "b", "c"],
    3,
  ],
  ["one instance alone", policy({ instances: ["a"] }), [], ["a"], 1],
])("counts on the right ones when %s", (_, given, alive, members, acks) => {
  expect(targetQuorum({ me: "a", policy: given, alive, current: ["a", "b", "c"] })).toEqual({
    members,
    acks,
  });
});

test("names standbys as PostgreSQL wants it", () => {
  expect(standbyNames(three, "a")).toBe('ANY 1 ("b", "c")');
  expect(standbyNames({ members: ["a"], acks: 1 }, "a")).toBe("");
});
