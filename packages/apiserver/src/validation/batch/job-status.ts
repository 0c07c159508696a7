/** What the status of a job may say, and how it may change. */
import { deepEqual, parseTime } from "@keelson/core";
import type { Job, JobSpec, JobStatus } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { checkNotNegative } from "../checks/strategies.ts";
import { countIndexes, overlap } from "./indexes.ts";

type ConditionType = "Complete" | "Failed" | "FailureTarget" | "SuccessCriteriaMet" | "Suspended";

function condition(status: JobStatus | undefined, type: ConditionType, wanted = "True"): boolean {
  return (status?.conditions ?? []).some((entry) => entry.type === type && entry.status === wanted);
}

function isFinished(status: JobStatus | undefined): boolean {
  return condition(status, "Complete") || condition(status, "Failed");
}

export function checkJobStatus(job: Job, old: Job, errors: Errors): void {
  const spec = job.spec as JobSpec;
  const status: JobStatus = job.status ?? {};
  const before: JobStatus = old.status ?? {};
  checkCounts(status, errors);
  checkConditions(job, old, errors);
  checkTimes(status, before, errors);
  checkConclusions(status, before, errors);
  checkFinished(spec, status, before, errors);
  checkIndexes(spec, status, before, errors);
  checkReadiness(spec, status, before, errors);
  checkChanges(spec, status, before, errors);
}

function invalidConditions(errors: Errors, detail: string): void {
  errors.list.push({ type: "FieldValueInvalid", field: "status.conditions", detail });
}

function checkCounts(status: JobStatus, errors: Errors): void {
  for (const field of ["active", "succeeded", "failed", "ready", "terminating"] as const)
    checkNotNegative(`status.${field}`, status[field], errors);
  const seen = new Set<string>();
  for (const field of ["succeeded", "failed"] as const)
    for (const [i, uid] of (status.uncountedTerminatedPods?.[field] ?? []).entries()) {
      const at = `status.uncountedTerminatedPods.${field}[${i}]`;
      if (!uid) errors.invalid(at, uid, "must not be empty");
      else if (seen.has(uid)) errors.duplicate(at, uid);
      else seen.add(uid);
    }
}

function changed(status: JobStatus, before: JobStatus, type: ConditionType): boolean {
  return condition(status, type) !== condition(before, type);
}

function checkConditions(job: Job, old: Job, errors: Errors): void {
  const status = job.status ?? {};
  const before = old.status ?? {};
  const complete = condition(status, "Complete");
  const completes = changed(status, before, "Complete");
  if ((completes || changed(status, before, "Failed")) && complete && condition(status, "Failed"))
    invalidConditions(errors, "cannot set Complete=True and Failed=true conditions");
  if (
    (completes || changed(status, before, "FailureTarget")) &&
    complete &&
    condition(status, "FailureTarget")
  )
    invalidConditions(errors, "cannot set Complete=True and FailureTarget=true conditions");
}

function checkTimes(status: JobStatus, before: JobStatus, errors: Errors): void {
  const { startTime, completionTime } = status;
  const complete = condition(status, "Complete");
  const completionChanged = completionTime !== before.completionTime;
  const completes = changed(status, before, "Complete") || completionChanged;
  const path = "status.completionTime";
  if (completes && completionTime && !complete)
    errors.invalid(
      path,
      completionTime,
      "cannot set completionTime when there is no Complete=True condition",
    );
  if (completes && !completionTime && complete)
    errors.required(path, "completionTime is required for Complete jobs");
  const moved = startTime !== before.startTime || completionChanged;
  if (moved && startTime && completionTime && parseTime(completionTime) < parseTime(startTime))
    errors.invalid(path, completionTime, "must be equal to or after `startTime`");
}

function checkConclusions(status: JobStatus, before: JobStatus, errors: Errors): void {
  const failedChanged = changed(status, before, "Failed") || status.failedIndexes !== before.failedIndexes;
  if (failedChanged && condition(status, "Failed") && !condition(status, "FailureTarget"))
    invalidConditions(errors, "cannot set Failed=True condition without the FailureTarget=true condition");
  const completes = changed(status, before, "Complete") || changed(status, before, "SuccessCriteriaMet");
  if (completes && condition(status, "Complete") && !condition(status, "SuccessCriteriaMet"))
    invalidConditions(
      errors,
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
}

function checkFinished(spec: JobSpec, status: JobStatus, before: JobStatus, errors: Errors): void {
  const finished = isFinished(status);
  const finishes = finished !== isFinished(before);
  const { active = 0 } = status;
  if ((finishes || active !== (before.active ?? 0)) && active > 0 && finished)
    errors.invalid("status.active", active, "active>0 is invalid for finished job");
  const idle = spec.suspend === true && spec.completions === 0;
  if ((finishes || status.startTime !== before.startTime) && !idle && !status.startTime && finished)
    errors.required("status.startTime", "startTime is required for finished job");
  const pods = status.uncountedTerminatedPods;
  const uncounted = (pods?.succeeded?.length ?? 0) + (pods?.failed?.length ?? 0);
  if ((finishes || !deepEqual(pods, before.uncountedTerminatedPods)) && finished && uncounted > 0)
    errors.invalid("status.uncountedTerminatedPods", pods, "must be empty for finished job");
}

function checkIndexes(spec: JobSpec, status: JobStatus, before: JobStatus, errors: Errors): void {
  const { completedIndexes: completed = "", failedIndexes: failed } = status;
  const completedChanged = completed !== (before.completedIndexes ?? "");
  const failedChanged = failed !== before.failedIndexes;
  const { completions } = spec;
  const check = (field: string, text: string) => {
    const counted = countIndexes(text, completions ?? 0);
    if ("problem" in counted)
      errors.invalid(`status.${field}`, text, `error parsing ${field}: ${counted.problem}`);
  };
  if (completedChanged && completions !== undefined) check("completedIndexes", completed);
  if (
    failedChanged &&
    completions !== undefined &&
    spec.backoffLimitPerIndex !== undefined &&
    failed !== undefined
  )
    check("failedIndexes", failed);
  if (completedChanged && completed !== "" && spec.completionMode !== "Indexed")
    errors.invalid(
      "status.completedIndexes",
      completed,
      "cannot set non-empty completedIndexes when non-indexed completion mode",
    );
  if (failedChanged && spec.backoffLimitPerIndex === undefined && failed !== undefined)
    errors.invalid(
      "status.failedIndexes",
      failed,
      "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    );
  if ((failedChanged || completedChanged) && completions !== undefined && failed !== undefined) {
    const index = overlap(completed, failed, completions);
    if (index !== undefined)
      errors.invalid(
        "status.failedIndexes",
        failed,
        `failedIndexes and completedIndexes overlap at index: ${index}`,
      );
  }
}

function checkReadiness(spec: JobSpec, status: JobStatus, before: JobStatus, errors: Errors): void {
  const finished = isFinished(status);
  const finishes = finished !== isFinished(before);
  const { ready, terminating, active = 0 } = status;
  if ((finishes || terminating !== before.terminating) && (terminating ?? 0) > 0 && finished)
    errors.invalid("status.terminating", terminating, "terminating>0 is invalid for finished job");
  if ((ready !== before.ready || active !== (before.active ?? 0)) && ready !== undefined && ready > active)
    errors.invalid("status.ready", ready, "cannot set more ready pods than active");
  const met = condition(status, "SuccessCriteriaMet");
  if (met && condition(status, "Failed"))
    invalidConditions(errors, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (met && condition(status, "FailureTarget"))
    invalidConditions(errors, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (spec.successPolicy && !met && condition(status, "Complete"))
    invalidConditions(
      errors,
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
}

function checkChanges(spec: JobSpec, status: JobStatus, before: JobStatus, errors: Errors): void {
  for (const type of ["Failed", "Complete", "FailureTarget"] as const)
    if (condition(before, type) && !condition(status, type))
      invalidConditions(errors, `cannot disable the terminal ${type}=True condition`);
  const { failed = 0, succeeded = 0, completionTime, startTime } = status;
  if (failed < (before.failed ?? 0))
    errors.invalid("status.failed", failed, "cannot decrease the failed counter");
  const elastic = spec.completionMode === "Indexed" && spec.completions === spec.parallelism;
  if (!elastic && succeeded < (before.succeeded ?? 0))
    errors.invalid("status.succeeded", succeeded, "cannot decrease the succeeded counter");
  if (completionTime && before.completionTime && completionTime !== before.completionTime)
    errors.invalid("status.completionTime", completionTime, "field is immutable");
  const resumes = condition(before, "Suspended") && condition(status, "Suspended", "False");
  if (before.startTime && startTime !== before.startTime && !resumes && !spec.suspend)
    errors.invalid("status.startTime", startTime, "field is immutable for unsuspended job once set");
  if (condition(before, "SuccessCriteriaMet") && !condition(status, "SuccessCriteriaMet"))
    invalidConditions(errors, "cannot disable the SuccessCriteriaMet=True condition");
  if (
    condition(before, "Complete") &&
    !condition(before, "SuccessCriteriaMet") &&
    condition(status, "SuccessCriteriaMet")
  )
    invalidConditions(
      errors,
      "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
    );
}

/** Whether pods of the job may still be changed: it is suspended and nothing runs. */
export function mayChangeTemplate(old: Job): boolean {
  const waiting = !old.status?.startTime || condition(old.status, "Suspended");
  return old.spec?.suspend === true && waiting && (old.status?.active ?? 0) === 0;
}
