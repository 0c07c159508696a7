/** Counts pods that ended exactly once: into the status first, then their finalizer goes, then the number goes up. Pure. */
import type { JobStatus } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { IndexSet } from "./indexes.ts";
import { hasLimitPerIndex, indexOf, isIndexed, isPodFailed, isTracked, validIndexOf } from "./job-pods.ts";
import { isFailureCounted } from "./policies.ts";
import type { Survey } from "./survey.ts";

const mostUncounted = 500;

export interface Tracking {
  readonly status: JobStatus;
  /** Pods whose finalizer goes once the status is written. */
  readonly release: readonly PodObject[];
  /** More pods wait to be counted than fit into one status. */
  readonly isCut: boolean;
}

/** `ends` says that the job is about to end, `fails` that it does so in failure: whatever runs has failed then. */
export function track(survey: Survey, status: JobStatus, end: { ends: boolean; fails: boolean }): Tracking {
  const { job, uncounted, indexes } = survey;
  const pods = isIndexed(job)
    ? survey.pods.toSorted((a, b) => (indexOf(a) ?? -1) - (indexOf(b) ?? -1))
    : survey.pods;
  const tracked = pods.filter(isTracked);
  const cleaned = counted(status, new Set(tracked.map(({ metadata }) => metadata.uid)));
  const succeeded = [...(cleaned.uncountedTerminatedPods?.succeeded ?? [])];
  const failed = [...(cleaned.uncountedTerminatedPods?.failed ?? [])];
  const newIndexes: number[] = [];
  const release: PodObject[] = [];
  let isCut = false;
  for (const pod of tracked) {
    const isFailed = isPodFailed(job, pod);
    if (!mayRelease(survey, pod, isFailed, end.ends)) continue;
    release.push(pod);
    const { uid } = pod.metadata;
    const index = validIndexOf(job, pod);
    if (pod.status?.phase === "Succeeded" && !uncounted.failed.has(uid)) {
      if (!indexes) {
        if (!uncounted.succeeded.has(uid)) succeeded.push(uid);
      } else if (index !== undefined && !indexes.before.has(index)) newIndexes.push(index);
    } else if (isFailed || (end.ends && end.fails)) {
      const isValid = !indexes || index !== undefined;
      if (isValid && !uncounted.failed.has(uid) && isFailureCounted(job.spec.podFailurePolicy, pod))
        failed.push(uid);
    }
    if (newIndexes.length + succeeded.length + failed.length >= mostUncounted) {
      isCut = true;
      break;
    }
  }
  const next: JobStatus = { ...cleaned, uncountedTerminatedPods: uncountedOf(succeeded, failed) };
  if (indexes) {
    const done = indexes.before.union(IndexSet.of(newIndexes)).union(indexes.succeeded);
    next.succeeded = done.size;
    next.completedIndexes = done.toString();
    if (indexes.failed) next.failedIndexes = indexes.failed.toString();
  }
  return { status: next, release, isCut };
}

function mayRelease({ job, indexes }: Survey, pod: PodObject, isFailed: boolean, ends: boolean): boolean {
  if (job.metadata.deletionTimestamp !== undefined || ends || pod.status?.phase === "Succeeded") return true;
  if (!isFailed) return false;
  // The next pod of its index takes its failures over, and has to find it.
  const index = hasLimitPerIndex(job) ? indexOf(pod) : undefined;
  return index === undefined || indexes?.waiting.get(index)?.metadata.uid !== pod.metadata.uid;
}

/** The status with the numbers up for pods that are no longer held. */
export function counted(status: JobStatus, held: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const stillSucceeded = succeeded.filter((uid) => held.has(uid));
  const stillFailed = failed.filter((uid) => held.has(uid));
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - stillSucceeded.length,
    failed: (status.failed ?? 0) + failed.length - stillFailed.length,
    uncountedTerminatedPods: uncountedOf(stillSucceeded, stillFailed),
  };
}

function uncountedOf(
  succeeded: string[],
  failed: string[],
): NonNullable<JobStatus["uncountedTerminatedPods"]> {
  return { ...(succeeded.length > 0 ? { succeeded } : {}), ...(failed.length > 0 ? { failed } : {}) };
}

export function isAllCounted({ uncountedTerminatedPods }: JobStatus): boolean {
  const { succeeded = [], failed = [] } = uncountedTerminatedPods ?? {};
  return succeeded.length + failed.length === 0;
}
