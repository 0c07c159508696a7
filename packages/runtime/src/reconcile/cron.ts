/** What a cron expression says about now. */
import { type CronSchedule, parseSchedule } from "@keelson/core/internal";
import type { CronResult } from "../controller/context.ts";

/** Due times that are counted one by one; beyond that the operator was away so long that the number says little. */
const countedAtMost = 10_000;

/** Throws for an expression or a time zone that the API server would not admit in a CronJob. */
export function evaluateCron(
  expression: string,
  options: { readonly since: Date; readonly timeZone?: string; readonly nowMs: number },
): CronResult {
  const { nowMs } = options;
  const schedule = parseSchedule(expression, options.timeZone);
  let due: number | undefined;
  let passed = 0;
  let next = schedule.next(Math.min(options.since.getTime(), nowMs));
  while (next !== undefined && next <= nowMs && passed < countedAtMost) {
    due = next;
    passed++;
    next = schedule.next(next);
  }
  if (next !== undefined && next <= nowMs) {
    due = newestDue(schedule, due as number, next, nowMs);
    next = schedule.next(due);
  }
  return {
    ...(due === undefined ? {} : { due: new Date(due) }),
    missed: Math.max(0, passed - 1),
    next: next === undefined ? undefined : new Date(next),
  };
}

/**
 * The last due time up to now, after two that are due. It is looked for further and further back, in multiples of the
 * distance between these two: a schedule of fixed distances counts from the first.
 */
function newestDue(schedule: CronSchedule, first: number, second: number, nowMs: number): number {
  const distanceMs = second - first;
  const distances = Math.floor((nowMs - first) / distanceMs);
  for (let back = 2; ; back *= 2) {
    let due = first + Math.max(0, distances - back) * distanceMs;
    let next = schedule.next(due);
    if (next === undefined || (next > nowMs && due > first)) continue;
    for (; next !== undefined && next <= nowMs; next = schedule.next(next)) due = next;
    return due;
  }
}
