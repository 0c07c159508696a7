import { describe, expect, it } from "vitest";
import { backupHealth, type ScheduleFacts, scheduleHealth } from "./health.ts";
import type { Calendar } from "./schedule.ts";

const schedule: ScheduleFacts = {
  name: "nightly",
  schedule: "0 * * * *",
  timeZone: "UTC",
  suspend: false,
  createdAt: "2026-01-01T00:00:00Z",
};
const good: ScheduleFacts = { ...schedule, lastSuccessful: "2026-01-01T23:00:10Z" };
const due = new Date("2026-01-02T00:00:00Z");
const health = (schedules: readonly ScheduleFacts[], missed: number) =>
  backupHealth(schedules, { calendar: () => ({ due, missed, next: undefined }), kind: "Schedule" });

describe("the health of a database's backups", () => {
  it("is unknown without a schedule, and before the first backup", () => {
    expect(health([], 0)).toMatchObject({ status: "Unknown", reason: "NoSchedule" });
    expect(health([{ ...good, suspend: true }], 9).reason).toBe("NoSchedule");
    expect(health([schedule], 0)).toMatchObject({ status: "Unknown", reason: "NoBackupYet" });
  });

  it("is good while at most the newest backup is still to come", () => {
    expect(health([good], 0)).toMatchObject({ type: "BackupHealthy", status: "True", reason: "Verified" });
  });

  it("is bad when backups stopped coming, though no failure was reported", () => {
    const found = health([good, good], 1);
    expect(found).toMatchObject({ status: "False", reason: "Overdue" });
    expect(found.message).toContain("since 2026-01-01T23:00:10Z");
  });

  it("repeats a schedule's own failure, and takes the worst of several", () => {
    const condition = { status: "False" as const, reason: "BackupFailed", message: "no space" };
    expect(health([good, schedule, { ...good, condition }], 0)).toMatchObject({
      status: "False",
      reason: "BackupFailed",
      message: "no space",
    });
    expect(health([good, schedule], 0).status).toBe("Unknown");
  });

  it("reports a schedule that cannot be read", () => {
    const calendar: Calendar = () => {
      throw new Error("no cron");
    };
    const found = backupHealth([schedule], { calendar, kind: "Schedule" });
    expect(found).toMatchObject({ status: "False", reason: "ScheduleInvalid", message: "nightly: no cron" });
  });
});

describe("the health that a schedule reports of itself", () => {
  it.each([
    [undefined, "Unknown", "NoBackupYet", "no backup of nightly has ended yet"],
    [{ name: "n-1", good: true, message: "was restored" }, "True", "Verified", "n-1 was restored"],
    [{ name: "n-2", good: false, message: "no space" }, "False", "BackupFailed", "n-2: no space"],
  ])("follows its newest backup: %j", (latest, status, reason, message) => {
    expect(scheduleHealth("nightly", latest)).toEqual({ type: "BackupHealthy", status, reason, message });
  });
});
