/** What a cron expression says about now. */
import { Cron } from "croner";
import type { CronResult } from "../controller/context.ts";

/** Due times that are counted one by one; beyond that the operator was away so long that the number says little. */
const countedAtMost = 10_000;

export function evaluateCron(
  expression: string,
  options: { readonly since: Date; readonly timeZone?: string; readonly nowMs: number },
): CronResult {
  const cron = new Cron(expression, {
    paused: true,
    ...(options.timeZone === undefined ? {} : { timezone: options.timeZone }),
  });
  let due: Date | undefined;
  let passed = 0;
  let next = cron.nextRun(options.since);
  while (next && next.getTime() <= options.nowMs && passed < countedAtMost) {
    due = next;
    passed++;
    next = cron.nextRun(next);
  }
  if (next && next.getTime() <= options.nowMs) {
    // The count is full: jump to the newest due time.
    due = cron.previousRuns(1, new Date(options.nowMs + 1))[0] ?? due;
    next = cron.nextRun(new Date(options.nowMs));
  }
  return { ...(due ? { due } : {}), missed: Math.max(0, passed - 1), next: next ?? undefined };
}
