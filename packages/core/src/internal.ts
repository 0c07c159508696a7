/** What our own packages need of core. No promise is made for it: it may change in any release. */
export { type CronSchedule, parseSchedule } from "./cron/cron-schedule.ts";
export { scheduleProblem, timeZoneProblems } from "./cron/schedule-problem.ts";
export { clockIn, WallClock, type WallMs } from "./cron/wall-clock.ts";
