/** Whether a cluster is backed up as its schedules say: pure but for the calendar. */
import type { CronResult } from "keelson";
import type { EtcdBackupScheduleObject } from "../api/backup.ts";
import { conditions } from "../api/conditions.ts";

export interface BackupHealth {
  readonly type: typeof conditions.backupHealthy;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** What a schedule says since a moment, as `ctx.cron` tells; it throws on what is no schedule. */
export type Calendar = (expression: string, options: { since: Date; timeZone: string }) => CronResult;

/** The worst of all its schedules. */
export function backupHealth(
  schedules: readonly EtcdBackupScheduleObject[],
  calendar: Calendar,
): BackupHealth {
  const type = conditions.backupHealthy;
  const active = schedules.filter(({ spec }) => !spec.suspend);
  const verdicts = active.map((schedule) => verdictOf(schedule, calendar));
  const bad = verdicts.find(({ status }) => status === "False");
  const unknown = verdicts.find(({ status }) => status === "Unknown");
  if (verdicts.length === 0) {
    const message = "no EtcdBackupSchedule takes backups of this cluster";
    return { type, status: "Unknown", reason: "NoSchedule", message };
  }
  return { type, ...(bad ?? unknown ?? verdicts[0]) } as BackupHealth;
}

/** One backup may be under way; two times that came and went without a proven one are a failure. */
function verdictOf(schedule: EtcdBackupScheduleObject, calendar: Calendar): Omit<BackupHealth, "type"> {
  const { metadata, spec, status } = schedule;
  const { name } = metadata;
  const last = status?.lastSuccessful;
  const own = status?.conditions?.find((each) => each.type === conditions.backupHealthy);
  let times: CronResult;
  try {
    const since = new Date(last ?? metadata.creationTimestamp);
    times = calendar(spec.schedule, { since, timeZone: spec.timeZone });
  } catch (error) {
    const message = `${name}: ${(error as Error).message}`;
    return { status: "False", reason: "ScheduleInvalid", message };
  }
  if (times.due && times.missed >= 1) {
    const since = last === undefined ? "ever" : `since ${last}`;
    return { status: "False", reason: "Overdue", message: `${name} has taken no proven backup ${since}` };
  }
  if (own?.status === "False") return { status: "False", reason: own.reason, message: own.message };
  if (last === undefined) {
    return { status: "Unknown", reason: "NoBackupYet", message: `${name} has taken no backup yet` };
  }
  return { status: "True", reason: "Verified", message: `${name} takes backups, and each was restored` };
}
