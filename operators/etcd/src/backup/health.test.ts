import { expect, it } from "vitest";
import type { EtcdBackupScheduleObject } from "../api/backup.ts";
import { backupHealth } from "./health.ts";

const schedule = (status: object = {}, spec: object = {}): EtcdBackupScheduleObject =>
  ({
    metadata: { name: "nightly", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { cluster: "prod", schedule: "0 * * * *", timeZone: "UTC", suspend: false, ...spec },
    status,
  }) as never;
const missed = (count: number) => () => ({
  due: new Date("2026-01-02T00:00:00Z"),
  missed: count,
  next: undefined,
});
const good = { lastSuccessful: "2026-01-01T23:00:10Z" };

it("is unknown without a schedule, and before the first backup", () => {
  expect(backupHealth([], missed(0))).toMatchObject({ status: "Unknown", reason: "NoSchedule" });
  expect(backupHealth([schedule(good, { suspend: true })], missed(9)).reason).toBe("NoSchedule");
  expect(backupHealth([schedule()], missed(0))).toMatchObject({ status: "Unknown", reason: "NoBackupYet" });
});

it("is well while at most the newest backup is still to come", () => {
  expect(backupHealth([schedule(good)], missed(0))).toMatchObject({ status: "True", reason: "Verified" });
});

it("is ill when backups stopped coming, though nobody reports a failure", () => {
  const health = backupHealth([schedule(good), schedule(good)], missed(1));
  expect(health).toMatchObject({ status: "False", reason: "Overdue" });
  expect(health.message).toContain("since 2026-01-01T23:00:10Z");
});

it("repeats a schedule's own failure, and takes the worst of several", () => {
  const condition = { type: "BackupHealthy", status: "False", reason: "BackupFailed", message: "no space" };
  const health = backupHealth([schedule(good), schedule({ ...good, conditions: [condition] })], missed(0));
  expect(health).toMatchObject({ status: "False", reason: "BackupFailed", message: "no space" });
});

it("says so when the schedule is none", () => {
  const health = backupHealth([schedule()], () => {
    throw new Error("no cron");
  });
  expect(health).toMatchObject({ status: "False", reason: "ScheduleInvalid" });
});
