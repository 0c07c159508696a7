/** Whether a job is to end, and why. Pure. */
import { formatTime, parseTime } from "@keelson/core";
import type { JobCondition } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { hasLimitPerIndex, isPodFailed, isSuspended, type JobObject } from "./job-pods.ts";
import { matchFailurePolicy, matchSuccessPolicy } from "./policies.ts";
import type { Survey } from "./survey.ts";

/** `FailureTarget` and `SuccessCriteriaMet` say what will be, `Failed` and `Complete` that no pod is left. */
export type ConditionType = "FailureTarget" | "Failed" | "SuccessCriteriaMet" | "Complete" | "Suspended";

export function jobCondition(
  type: ConditionType,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
): JobCondition {
  const time = formatTime(nowMs);
  return { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message };
}

export function trueCondition({ status }: JobObject, type: ConditionType): JobCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
}

export function isFinished(job: JobObject): boolean {
  return trueCondition(job, "Complete") !== undefined || trueCondition(job, "Failed") !== undefined;
}

/** Why the job ends before its completions are reached, or in spite of them; undefined when it goes on. */
export function endOf(
  survey: Survey,
  startedMs: number | undefined,
  nowMs: number,
): JobCondition | undefined {
  const { job, pods, indexes } = survey;
  const met = trueCondition(job, "SuccessCriteriaMet");
  if (met) return met;
  const target = trueCondition(job, "FailureTarget");
  if (target) return jobCondition("Failed", "True", target.reason ?? "", target.message ?? "", nowMs);
  const fail = (reason: string, message: string) =>
    jobCondition("FailureTarget", "True", reason, message, nowMs);
  const byPolicy = policyFailure(job, pods);
  if (byPolicy !== undefined) return fail("PodFailurePolicy", byPolicy);
  if (survey.failed > (job.spec.backoffLimit ?? 6) || restartsExceedLimit(job, pods)) {
    return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  if (deadlineMs(job, startedMs, nowMs) === 0) {
    return fail("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  if (!indexes) return undefined;
  const completions = job.spec.completions ?? 0;
  if (hasLimitPerIndex(job) && indexes.failed) {
    const { maxFailedIndexes } = job.spec;
    if (maxFailedIndexes !== undefined && indexes.failed.size > maxFailedIndexes) {
      return fail(
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
      );
    }
    if (indexes.failed.size > 0 && indexes.failed.size + indexes.succeeded.size >= completions) {
      return fail("FailedIndexes", "Job has failed indexes");
    }
  }
  const rule = matchSuccessPolicy(job.spec.successPolicy, completions, indexes.succeeded);
  return rule === undefined
    ? undefined
    : jobCondition("SuccessCriteriaMet", "True", "SuccessPolicy", rule, nowMs);
}

function policyFailure(job: JobObject, pods: readonly PodObject[]): string | undefined {
  for (const pod of pods) {
    if (!isPodFailed(job, pod)) continue;
    const match = matchFailurePolicy(job.spec.podFailurePolicy, pod);
    if (match?.action === "FailJob") return match.message;
  }
  return undefined;
}

/** Containers that are restarted in place count as failures of the job. */
function restartsExceedLimit({ spec }: JobObject, pods: readonly PodObject[]): boolean {
  if (spec.template.spec?.restartPolicy !== "OnFailure") return false;
  const limit = spec.backoffLimit ?? 6;
  const restarts = pods
    .filter(({ status }) => status?.phase === "Running" || status?.phase === "Pending")
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** How long until the deadline; 0 when it has passed, undefined when there is none. */
export function deadlineMs(job: JobObject, startedMs: number | undefined, nowMs: number): number | undefined {
  const { activeDeadlineSeconds } = job.spec;
  if (activeDeadlineSeconds === undefined || startedMs === undefined || isSuspended(job)) return undefined;
  return Math.max(0, startedMs + activeDeadlineSeconds * 1000 - nowMs);
}

export function startedMs({ status }: JobObject): number | undefined {
  return status?.startTime ? parseTime(status.startTime) : undefined;
}
