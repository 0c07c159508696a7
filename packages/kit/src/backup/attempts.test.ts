import { describe, expect, test } from "vitest";
import {
  type AttemptStatus,
  afterFailedAttempt,
  failedBackup,
  hasBackupEnded,
  pauseBeforeAttempt,
} from "./attempts.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const failure = { reason: "StoreUnreachable", message: "no answer" };
const status: AttemptStatus & { readonly name: string } = { phase: "Copying", attempt: 1, name: "b" };

describe("a failed attempt", () => {
  test.each([
    [1, "2030-01-01T00:00:10.000Z"],
    [2, "2030-01-01T00:00:20.000Z"],
  ])("number %i is followed by another, each pause twice the one before", (attempt, retryAfter) => {
    expect(afterFailedAttempt(status, attempt, failure, { nowMs })).toEqual({
      do: "record",
      status: { name: "b", phase: "Pending", attempt: attempt + 1, retryAfter, failure },
      event: { type: "Warning", reason: "AttemptFailed", message: `attempt ${attempt} of 3: no answer` },
    });
  });

  test("ends the backup when it was the last", () => {
    expect(afterFailedAttempt(status, 3, failure, { nowMs })).toEqual(failedBackup(status, failure));
  });

  test("ends the backup when no attempt can succeed", () => {
    const terminal = { reason: "StoredDamaged", message: "another checksum" };
    expect(afterFailedAttempt(status, 1, terminal, { nowMs }).status.phase).toBe("Failed");
  });
});

test("an attempt waits for the rest of its pause, and for nothing when the clock was set back", () => {
  const { status: next } = afterFailedAttempt(status, 2, failure, { nowMs });
  expect(pauseBeforeAttempt(next, { nowMs })).toBe(20_000);
  expect(pauseBeforeAttempt(next, { nowMs: nowMs + 19_000 })).toBe(1_000);
  expect(pauseBeforeAttempt(next, { nowMs: nowMs + 20_000 })).toBe(0);
  expect(pauseBeforeAttempt(next, { nowMs: nowMs - 1 })).toBe(0);
  expect(pauseBeforeAttempt({}, { nowMs })).toBe(0);
});

test("a backup that failed waits for nothing", () => {
  const waiting = { ...status, retryAfter: "2030-01-01T00:00:10.000Z" };
  expect(failedBackup(waiting, failure).status).toEqual({ name: "b", phase: "Failed", attempt: 1, failure });
});

test.each([
  ["Done", true],
  ["Failed", true],
  ["Removed", true],
  ["Pending", false],
  [undefined, false],
])("a backup in phase %s has ended: %s", (phase, ended) => {
  expect(hasBackupEnded(phase)).toBe(ended);
});
