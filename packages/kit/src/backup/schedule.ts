/** When a schedule takes its next backup. */
import type { CronResult } from "@keelson/runtime";

/** Evaluates a cron expression now, as `ctx.cron` does. It throws when the expression or the time zone is invalid. */
export type Calendar = (
  expression: string,
  options: { readonly since: Date; readonly timeZone: string },
) => CronResult;

/** A schedule, and what is known of its backups. */
export interface ScheduleState {
  /** A cron expression. */
  readonly schedule: string;
  readonly timeZone: string;
  /** No backups are taken, and those that fall due meanwhile are not taken later. */
  readonly suspend: boolean;
  /** When the schedule was created: before the first backup, times count from here. */
  readonly createdAt: string;
  /** The due time of the last backup, as this function returned it. */
  readonly lastScheduled?: string | undefined;
  /** A backup of this schedule has not ended yet. The next one waits for it. */
  readonly running: boolean;
}

/**
 * - `take`: a backup is due now.
 * - `wait`: none is due, or the one that is due must wait for the running one.
 * - `invalid`: the expression or the time zone cannot be read.
 */
export type ScheduleDecision =
  | {
      readonly do: "take";
      /** The due time. Name the backup after it (see {@link backupStamp}), so that a repeated create is no second one. */
      readonly at: Date;
      /** To be stored in the status once the backup exists. */
      readonly lastScheduled: string;
      readonly next: Date | undefined;
    }
  | {
      readonly do: "wait";
      readonly lastScheduled: string | undefined;
      readonly next: Date | undefined;
    }
  | { readonly do: "invalid"; readonly message: string };

/**
 * Decides about the newest due time. An operator that was down, or a backup that took long, may have missed several:
 * they are caught up with one backup, not with one each.
 *
 * @example
 * const decision = decideSchedule({ ...spec, createdAt, lastScheduled, running }, ctx.cron);
 */
export function decideSchedule(state: ScheduleState, calendar: Calendar): ScheduleDecision {
  const { schedule, timeZone, suspend, createdAt, lastScheduled, running } = state;
  const timesSince = (since: string) => calendar(schedule, { since: new Date(since), timeZone });
  let times: CronResult;
  try {
    times = timesSince(lastScheduled ?? createdAt);
  } catch (error) {
    const { message } = error as Error;
    return {
      do: "invalid",
      message: `${JSON.stringify(schedule)} in ${timeZone} is not a schedule: ${message}`,
    };
  }
  const { due, next } = times;
  if (lastScheduled !== undefined && next && Date.parse(lastScheduled) >= next.getTime()) {
    // Left by a clock that was ahead: what falls due until then would be skipped.
    return {
      do: "wait",
      lastScheduled: (timesSince(createdAt).due ?? new Date(createdAt)).toISOString(),
      next,
    };
  }
  if (due && suspend) return { do: "wait", lastScheduled: due.toISOString(), next };
  if (due && !running) return { do: "take", at: due, lastScheduled: due.toISOString(), next };
  return { do: "wait", lastScheduled, next };
}

/** A due time as part of a name: `20260131020000`. */
export function backupStamp(at: Date): string {
  return at.toISOString().replace(/[-:T]|\.\d{3}Z$/g, "");
}
