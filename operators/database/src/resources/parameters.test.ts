import { expect, test } from "vitest";
import { settable, unsettable } from "./parameters.ts";

test("what the agents set is theirs, in whatever case it is written", () => {
  const spec = {
    durability: "quorum",
    parameters: { FSync: "off", recovery_target_action: "promote", work_mem: "8MB" },
  } as const;
  expect([...unsettable(spec).keys()]).toEqual(["FSync", "recovery_target_action"]);
  expect(settable(spec)).toEqual({ work_mem: "8MB" });
});

test.each([
  ["off", "quorum", false],
  ["local", "all", false],
  ["remote_write", "quorum", false],
  ["on", "quorum", true],
  ["remote_apply", "all", true],
  ["off", "async", true],
] as const)("synchronous_commit %s with durability %s", (value, durability, expected) => {
  expect("synchronous_commit" in settable({ durability, parameters: { synchronous_commit: value } })).toBe(
    expected,
  );
});
