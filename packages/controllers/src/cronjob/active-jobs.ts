/** The jobs of a cron job: which run, which ended well, which are history enough to go. Pure. */
import { parseTime } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { CronJobStatus, ObjectReference } from "@keelson/core/kinds";
import type { JobObject } from "../job/job-pods.ts";
import { isFinished, trueCondition } from "../job/job-result.ts";
import type { CronJobObject } from "./due-time.ts";

export interface Told {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface Accounting {
  readonly status: CronJobStatus;
  readonly told: readonly Told[];
}

/** The status after a look at the jobs; `missing` are active ones that exist no more. */
export function account(
  cronJob: CronJobObject,
  jobs: readonly JobObject[],
  missing: readonly ObjectReference[],
): Accounting {
  let active = cronJob.status?.active ?? [];
  let last = cronJob.status?.lastSuccessfulTime;
  const told: Told[] = [];
  for (const job of jobs) {
    const { name, uid } = job.metadata;
    const isKnown = active.some((each) => each.uid === uid);
    if (!isFinished(job)) {
      if (isKnown) continue;
      const message = `Saw a job that the controller did not create or forgot: ${name}`;
      told.push({ type: "Warning", reason: "UnexpectedJob", message });
      continue;
    }
    if (isKnown) {
      const condition = trueCondition(job, "Complete") ? "Complete" : "Failed";
      active = active.filter((each) => each.uid !== uid);
      const message = `Saw completed job: ${name}, condition: ${condition}`;
      told.push({ type: "Normal", reason: "SawCompletedJob", message });
    }
    const completed = trueCondition(job, "Complete") ? job.status?.completionTime : undefined;
    if (completed && (!last || parseTime(completed) > parseTime(last))) last = completed;
  }
  for (const reference of missing) {
    active = active.filter((each) => each.uid !== reference.uid);
    told.push({
      type: "Normal",
      reason: "MissingJob",
      message: `Active job went missing: ${reference.name}`,
    });
  }
  return { status: statusWith(cronJob.status, { active, lastSuccessfulTime: last }), told };
}

/** The status with some of it changed; what is empty is left out. */
export function statusWith(status: CronJobStatus | undefined, change: Changes): CronJobStatus {
  const next = { ...status, ...change };
  return {
    ...(next.active && next.active.length > 0 ? { active: [...next.active] } : {}),
    ...(next.lastScheduleTime ? { lastScheduleTime: next.lastScheduleTime } : {}),
    ...(next.lastSuccessfulTime ? { lastSuccessfulTime: next.lastSuccessfulTime } : {}),
  };
}

interface Changes {
  readonly active?: ObjectReference[] | undefined;
  readonly lastScheduleTime?: string | undefined;
  readonly lastSuccessfulTime?: string | undefined;
}

/** Ended jobs beyond the limits, oldest first. */
export function outdatedJobs({ spec }: CronJobObject, jobs: readonly JobObject[]): JobObject[] {
  const beyond = (ended: JobObject[], limit: number | undefined) =>
    limit === undefined ? [] : ended.toSorted(byStart).slice(0, Math.max(0, ended.length - limit));
  return [
    ...beyond(
      jobs.filter((job) => trueCondition(job, "Complete")),
      spec.successfulJobsHistoryLimit,
    ),
    ...beyond(
      jobs.filter((job) => trueCondition(job, "Failed")),
      spec.failedJobsHistoryLimit,
    ),
  ];
}

/** Those that never started come last. */
function byStart(a: JobObject, b: JobObject): number {
  const startOf = ({ status }: JobObject) => (status?.startTime ? parseTime(status.startTime) : Infinity);
  const [left, right] = [startOf(a), startOf(b)];
  return left === right ? compareBytes(a.metadata.name, b.metadata.name) : left - right;
}
