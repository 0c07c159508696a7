/** The last part of looking at a job: pods that ended are counted, and the job ends when nothing is left to count. */
import { deepEqual } from "@keelson/core";
import { Job, type JobCondition, type JobStatus } from "@keelson/core/kinds";
import type { Acting } from "../acting/acting.ts";
import { omitEmpty } from "../acting/omit-empty.ts";
import { isTracked, type JobObject } from "./job-pods.ts";
import { jobCondition, trueCondition } from "./job-result.ts";
import { release } from "./pods-of-job.ts";
import type { Survey } from "./survey.ts";
import { counted, isAllCounted, track } from "./tracking.ts";

/** Counts pods that ended, lets them go, and ends the job when nothing of it is left to count. */
export async function settle(
  ctx: Acting,
  seen: Survey,
  given: JobStatus,
  finish: JobCondition | undefined,
  nowMs: number,
  onWritten: () => void,
): Promise<void> {
  let { job } = seen;
  const fails = finish !== undefined && finish.type !== "SuccessCriteriaMet";
  const tracked = track(seen, given, { ends: finish !== undefined, fails });
  const { status, terminal } = announced(job, tracked.status, finish, nowMs);
  const written = printed(status);
  if (!deepEqual(written, job.status ?? {})) {
    job = await ctx
      .kind(Job)
      .subresource("status")
      .update({ ...job, status: written });
    onWritten();
  }
  const results = await Promise.allSettled(tracked.release.map((pod) => release(ctx, pod)));
  const failure = results.find((result) => result.status === "rejected");
  const released = new Set(tracked.release.filter((_, index) => results[index]?.status === "fulfilled"));
  const held = seen.pods
    .filter((pod) => isTracked(pod) && !released.has(pod))
    .map(({ metadata }) => metadata.uid);
  const next = counted(job.status ?? {}, new Set(held));
  const isOver = terminal && !tracked.isCut && isAllCounted(next) && (next.terminating ?? 0) === 0;
  const last = printed(isOver ? ended(next, terminal) : next);
  if (!deepEqual(last, job.status ?? {})) {
    job = await ctx
      .kind(Job)
      .subresource("status")
      .update({ ...job, status: last });
  }
  if (isOver) tellEnd(ctx, job, terminal);
  if (failure) throw failure.reason;
}

/** What will be is said first; what is follows when no pod is left. */
function announced(
  job: JobObject,
  status: JobStatus,
  finish: JobCondition | undefined,
  nowMs: number,
): { status: JobStatus; terminal: JobCondition | undefined } {
  if (!finish) return { status, terminal: undefined };
  const isSuccess = finish.type === "SuccessCriteriaMet";
  const { reason = "", message = "" } = finish;
  const terminal = jobCondition(isSuccess ? "Complete" : "Failed", "True", reason, message, nowMs);
  const isSaid = finish.type === "Failed" || (isSuccess && trueCondition(job, "SuccessCriteriaMet"));
  return {
    status: isSaid ? status : { ...status, conditions: [...(status.conditions ?? []), finish] },
    terminal,
  };
}

function ended(status: JobStatus, terminal: JobCondition): JobStatus {
  return {
    ...status,
    conditions: [...(status.conditions ?? []), terminal],
    ...(terminal.type === "Complete" ? { completionTime: terminal.lastTransitionTime } : {}),
  };
}

function tellEnd(ctx: Acting, job: JobObject, terminal: JobCondition): void {
  if (terminal.type === "Failed") {
    ctx.event(job, "Warning", terminal.reason ?? "", terminal.message ?? "");
    return;
  }
  if (job.spec.completions !== undefined && (job.status?.succeeded ?? 0) > job.spec.completions) {
    const message = "Too many succeeded pods running after completion count reached";
    ctx.event(job, "Warning", "TooManySucceededPods", message);
  }
  ctx.event(job, "Normal", "Completed", "Job completed");
}

/** The status as the server prints it. */
function printed(status: JobStatus): JobStatus {
  const { ready = 0, terminating = 0, uncountedTerminatedPods = {}, failedIndexes, ...rest } = status;
  return {
    ...omitEmpty(rest),
    ready,
    terminating,
    uncountedTerminatedPods,
    ...(failedIndexes === undefined ? {} : { failedIndexes }),
  };
}
