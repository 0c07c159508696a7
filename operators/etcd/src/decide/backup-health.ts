/** Whether a cluster is backed up as its schedules say. */
import { type BackupHealth, backupHealth, type Calendar } from "@keelson/kit";
import type { EtcdBackupScheduleObject } from "../api/backup.ts";
import { conditions } from "../api/conditions.ts";

export function clusterBackupHealth(
  schedules: readonly EtcdBackupScheduleObject[],
  calendar: Calendar,
): BackupHealth {
  const facts = schedules.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    schedule: spec.schedule,
    timeZone: spec.timeZone,
    suspend: spec.suspend,
    createdAt: metadata.creationTimestamp,
    lastSuccessful: status?.lastSuccessful,
    condition: status?.conditions?.find(({ type }) => type === conditions.backupHealthy),
  }));
  return backupHealth(facts, { calendar, kind: "EtcdBackupSchedule" });
}
