import { describe, expect, test } from "vitest";
import {
  type BackupRemoval,
  carryOutRemoval,
  decideRemoval,
  type RemovalDecision,
  type RemoverView,
} from "./removal.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const pod: RemoverView = { uid: "1", state: "failed", reason: "StoreUnavailable", message: "no answer" };
const removal: BackupRemoval = {
  failures: 1,
  pod: "1",
  retryAfter: "2030-01-01T00:00:10.000Z",
  reason: "StoreUnavailable",
  message: "no answer",
};

describe("the removal of a backup's data", () => {
  test("starts with a pod, waits for it, and ends with it", () => {
    expect(decideRemoval(undefined, undefined, { nowMs })).toEqual({ do: "start" });
    expect(decideRemoval(undefined, { uid: "1", state: "working", message: "it runs" }, { nowMs })).toEqual({
      do: "wait",
      reason: "Removing",
      message: "it runs",
    });
    expect(decideRemoval(removal, { uid: "1", state: "done" }, { nowMs })).toEqual({ do: "removed" });
  });

  test("is not tried again where no attempt can succeed", () => {
    const foreign: RemoverView = { ...pod, state: "failed", reason: "NotOurs", message: "of another" };
    expect(decideRemoval(undefined, foreign, { nowMs })).toMatchObject({ do: "refuse", reason: "NotOurs" });
  });

  test("records a failed attempt once", () => {
    expect(decideRemoval(undefined, pod, { nowMs })).toEqual({
      do: "record",
      removal,
      message: "attempt 1 to remove the data: no answer",
    });
    expect(decideRemoval(removal, pod, { nowMs })).toMatchObject({ do: "wait", recheckMs: 10_000 });
  });

  test("pauses twice as long after each failed attempt, and five minutes at most", () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 100].map((failures) => {
      const next = decideRemoval({ ...removal, failures, pod: "0" }, pod, { nowMs });
      return next.do === "record" ? (Date.parse(next.removal.retryAfter) - nowMs) / 1_000 : undefined;
    });
    expect(pauses).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("starts again after the pause, with another pod", () => {
    const later = { nowMs: nowMs + 10_000 };
    expect(decideRemoval(removal, pod, later)).toEqual({ do: "clear" });
    expect(decideRemoval(removal, undefined, later)).toEqual({ do: "start" });
  });

  test("keeps its pause when someone deletes the pod that failed", () => {
    expect(decideRemoval(removal, undefined, { nowMs })).toEqual({
      do: "wait",
      reason: "StoreUnavailable",
      message: "attempt 2 to remove the data follows at 2030-01-01T00:00:10.000Z: no answer",
      recheckMs: 10_000,
    });
  });

  test("waits no longer when the clock was set back", () => {
    expect(decideRemoval(removal, undefined, { nowMs: nowMs - 3_600_000 })).toEqual({ do: "start" });
  });
});

test("what was decided is done, recorded and told", async () => {
  const removal: BackupRemoval = {
    failures: 1,
    pod: "1",
    retryAfter: "",
    reason: "Timeout",
    message: "no answer",
  };
  const carriedOut = async (decision: RemovalDecision) => {
    const calls: unknown[] = [];
    const outcome = await carryOutRemoval(decision, {
      pod: "remover",
      start: async () => calls.push("start"),
      deletePod: async () => calls.push("delete"),
      record: (status) => void calls.push(status),
      event: (type, reason) => void calls.push(`${type} ${reason}`),
    });
    return [outcome.outcome, ...calls];
  };
  expect(await carriedOut({ do: "start" })).toEqual(["waiting", "start"]);
  expect(await carriedOut({ do: "clear" })).toEqual(["waiting", "delete"]);
  expect(await carriedOut({ do: "wait", reason: "Removing", message: "" })).toEqual(["waiting"]);
  const failed = ["waiting", { removal }, "Warning RemovalFailed"];
  expect(await carriedOut({ do: "record", removal, message: "" })).toEqual(failed);
  expect(await carriedOut({ do: "removed" })).toEqual([
    "waiting",
    { phase: "Removed" },
    "Normal DataRemoved",
  ]);
  expect(await carriedOut({ do: "refuse", reason: "NotOurs", message: "" })).toEqual(["failed"]);
});
