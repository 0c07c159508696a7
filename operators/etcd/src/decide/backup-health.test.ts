import { expect, test } from "vitest";
import type { EtcdBackupScheduleObject } from "../api/backup.ts";
import { clusterBackupHealth } from "./backup-health.ts";

const schedule = (status?: object) =>
  ({
    metadata: { name: "nightly", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { schedule: "@daily", timeZone: "UTC", suspend: false },
    status,
  }) as unknown as EtcdBackupScheduleObject;
const calendar = () => ({ due: undefined, missed: 0, next: undefined }) as never;
const health = (...schedules: EtcdBackupScheduleObject[]) => clusterBackupHealth(schedules, calendar);

test("a cluster is as healthy as what its schedule reports under BackupHealthy", () => {
  const failed = { status: "False", reason: "BackupFailed", message: "no answer" };
  expect(health()).toMatchObject({ status: "Unknown", reason: "NoSchedule" });
  expect(health(schedule())).toMatchObject({ status: "Unknown", reason: "NoBackupYet" });
  const lastSuccessful = "2026-01-01T00:00:00Z";
  const ready = { type: "Ready", status: "True" };
  expect(health(schedule({ lastSuccessful, conditions: [ready] }))).toMatchObject({ reason: "Verified" });
  const conditions = [ready, { type: "BackupHealthy", ...failed }];
  expect(health(schedule({ lastSuccessful, conditions }))).toMatchObject(failed);
});
