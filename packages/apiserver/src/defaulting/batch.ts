/** Defaults of batch/v1. */
import type { CronJob, Job, JobSpec } from "@keelson/core/kinds";
import { defaultPodSpec } from "./pod-spec.ts";

const maxInt32 = 2 ** 31 - 1;

export function defaultJob(job: Job): void {
  job.spec ??= {} as JobSpec;
  const spec = job.spec;
  if (spec.completions === undefined && spec.parallelism === undefined) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : maxInt32;
  const labels = spec.template?.metadata?.labels;
  const meta = job.metadata;
  // Shared on purpose: labels that the template gets later are the job's as well.
  if (labels && meta && Object.keys(meta.labels ?? {}).length === 0) meta.labels = labels;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
  spec.manualSelector ??= false;
  defaultJobTemplate(spec);
}

/** What a job's spec gets inside a cron job too. */
function defaultJobTemplate(spec: JobSpec): void {
  if (spec.template?.spec) defaultPodSpec(spec.template.spec);
  for (const rule of spec.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= "True";
}

export function defaultCronJob(job: CronJob): void {
  job.spec ??= {} as NonNullable<CronJob["spec"]>;
  const spec = job.spec;
  spec.concurrencyPolicy ??= "Allow";
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
  if (spec.jobTemplate?.spec) defaultJobTemplate(spec.jobTemplate.spec);
}
