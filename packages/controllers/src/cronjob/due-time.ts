/** Which start of a cron job is due, and when the next one will be. Pure. */
import { type ObjectOf, parseTime } from "@keelson/core";
import type { CronSchedule } from "@keelson/core/internal";
import type { CronJob } from "@keelson/core/kinds";
import { ControllerError } from "../acting/errors.ts";

export type CronJobObject = ObjectOf<typeof CronJob>;

export interface Due {
  /** The newest start that is due and was not made; undefined when there is none. */
  readonly atMs?: number;
  readonly missed: "none" | "few" | "many";
  /** From when on starts were looked for. */
  readonly sinceMs: number;
}

/** From this number on, starts that were missed are worth a warning. */
const many = 100;

/** Clocks differ a little: a start is looked for this long after its time. */
const skewMs = 100;

/** Throws for a schedule that never comes. */
export function dueTime(
  cronJob: CronJobObject,
  schedule: CronSchedule,
  nowMs: number,
  options: { readonly withinDeadline: boolean },
): Due {
  const { startingDeadlineSeconds: deadline } = cronJob.spec;
  const last = cronJob.status?.lastScheduleTime;
  let sinceMs = parseTime(last ?? cronJob.metadata.creationTimestamp);
  if (options.withinDeadline && deadline !== undefined) sinceMs = Math.max(sinceMs, nowMs - deadline * 1000);
  const first = schedule.next(sinceMs);
  const second = first === undefined ? undefined : schedule.next(first);
  if (first === undefined || second === undefined) {
    throw new ControllerError("InvalidObject", "time difference between two schedules is less than 1 second");
  }
  if (nowMs < first) return { missed: "none", sinceMs };
  if (nowMs < second) return { atMs: first, missed: "none", sinceMs };
  // An estimate by the first distance is enough to know where to begin: distances may differ.
  const distanceMs = Math.max(1000, Math.round((second - first) / 1000) * 1000);
  const count = Math.floor(Math.floor((nowMs - first) / 1000) / (distanceMs / 1000)) + 1;
  const missed = count > many ? "many" : "few";
  let atMs: number | undefined;
  for (
    let at = schedule.next(first + (count - 2) * distanceMs);
    at !== undefined && at <= nowMs;
    at = schedule.next(at)
  ) {
    atMs = at;
  }
  return { ...(atMs === undefined ? {} : { atMs }), missed, sinceMs };
}

/** How long until the next start is to be looked at. */
export function nextLookMs(cronJob: CronJobObject, schedule: CronSchedule, nowMs: number): number {
  const due = dueTime(cronJob, schedule, nowMs, { withinDeadline: false });
  const from = due.atMs ?? (due.missed === "none" ? due.sinceMs : nowMs);
  return Math.max(0, (schedule.next(from) ?? nowMs) + skewMs - nowMs);
}
