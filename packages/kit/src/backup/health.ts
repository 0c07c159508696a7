/** Whether a database is backed up as its schedules say. */
import type { Condition } from "@keelson/core";
import type { CronResult } from "@keelson/runtime";
import type { Calendar } from "./schedule.ts";

/** The type of the condition that these functions make. */
export const backupHealthyCondition = "BackupHealthy";

/** The reasons of the condition: public names. */
export const backupHealthReasons = {
  /** No schedule takes backups, or all are suspended. */
  noSchedule: "NoSchedule",
  /** No backup has ended yet. */
  noBackupYet: "NoBackupYet",
  /** The newest backup was proven by restoring it. */
  verified: "Verified",
  /** A whole period passed without a good backup, though none failed. */
  overdue: "Overdue",
  /** The newest backup failed. */
  failed: "BackupFailed",
  /** The schedule's expression or time zone cannot be read. */
  scheduleInvalid: "ScheduleInvalid",
} as const;

/** A condition about backups, ready for `ctx.setCondition`. */
export interface BackupHealth {
  readonly type: typeof backupHealthyCondition;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** The newest backup of a schedule that has ended. */
export interface LatestBackup {
  readonly name: string;
  readonly good: boolean;
  /** What proves it, or why it failed; follows the name in the message. */
  readonly message: string;
}

/** What a schedule reports of itself. `schedule` is its name; `latest` is undefined before the first backup ended. */
export function scheduleHealth(schedule: string, latest: LatestBackup | undefined): BackupHealth {
  if (!latest) return unknown(backupHealthReasons.noBackupYet, `no backup of ${schedule} has ended yet`);
  return latest.good
    ? health("True", backupHealthReasons.verified, `${latest.name} ${latest.message}`)
    : health("False", backupHealthReasons.failed, `${latest.name}: ${latest.message}`);
}

/** A schedule as the health of its database sees it. */
export interface ScheduleFacts {
  readonly name: string;
  /** A cron expression. */
  readonly schedule: string;
  readonly timeZone: string;
  readonly suspend: boolean;
  readonly createdAt: string;
  /** When the last good backup was taken. */
  readonly lastSuccessful?: string | undefined;
  /** What the schedule reports of itself; see {@link scheduleHealth}. */
  readonly condition?: Pick<Condition, "status" | "reason" | "message"> | undefined;
}

/**
 * The worst of all schedules of a database. It does not rely on the schedule's own report: backups that stopped coming
 * are noticed by the calendar, even when the controller that takes them is gone. `kind` names schedules in messages.
 */
export function backupHealth(
  schedules: readonly ScheduleFacts[],
  options: { readonly calendar: Calendar; readonly kind: string },
): BackupHealth {
  const { calendar, kind } = options;
  const active = schedules.filter(({ suspend }) => !suspend);
  const found = active.map((schedule) => healthOf(schedule, calendar));
  const [first] = found;
  if (!first) return unknown(backupHealthReasons.noSchedule, `no ${kind} takes backups`);
  const bad = found.find(({ status }) => status === "False");
  return bad ?? found.find(({ status }) => status === "Unknown") ?? first;
}

/** One backup may be running; two due times that passed without a good one are a failure. */
function healthOf(schedule: ScheduleFacts, calendar: Calendar): BackupHealth {
  const { name, timeZone, createdAt, lastSuccessful, condition } = schedule;
  let times: CronResult;
  try {
    times = calendar(schedule.schedule, { since: new Date(lastSuccessful ?? createdAt), timeZone });
  } catch (error) {
    return health("False", backupHealthReasons.scheduleInvalid, `${name}: ${(error as Error).message}`);
  }
  if (times.due && times.missed >= 1) {
    const since = lastSuccessful === undefined ? "ever" : `since ${lastSuccessful}`;
    return health("False", backupHealthReasons.overdue, `${name} has taken no proven backup ${since}`);
  }
  if (condition?.status === "False") return health("False", condition.reason, condition.message);
  if (lastSuccessful === undefined)
    return unknown(backupHealthReasons.noBackupYet, `${name} has taken no backup yet`);
  return health("True", backupHealthReasons.verified, `${name} takes backups, and each was restored`);
}

function health(status: "True" | "False", reason: string, message: string): BackupHealth {
  return { type: backupHealthyCondition, status, reason, message };
}

function unknown(reason: string, message: string): BackupHealth {
  return { type: backupHealthyCondition, status: "Unknown", reason, message };
}
