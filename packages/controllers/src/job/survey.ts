/** Everything a decision about a job needs to know, worked out once from the job and its pods. Pure. */
import { isPodActive, isPodReady, isPodTerminating, type PodObject } from "@keelson/workloads";
import { type Backoff, nextBackoff } from "./backoff.ts";
import { IndexSet } from "./indexes.ts";
import {
  countUnder,
  failureCountAnnotation,
  failuresBefore,
  finishedMs,
  hasLimitPerIndex,
  isIndexed,
  isPodFailed,
  isTracked,
  type JobObject,
  validIndexOf,
} from "./job-pods.ts";
import { isFailureCounted, matchFailurePolicy } from "./policies.ts";

export interface Survey {
  readonly job: JobObject;
  readonly pods: readonly PodObject[];
  readonly active: readonly PodObject[];
  readonly ready: number;
  readonly terminating: number;
  /** UIDs of pods that ended, are in the status, and still hold their finalizer. */
  readonly uncounted: { readonly succeeded: ReadonlySet<string>; readonly failed: ReadonlySet<string> };
  /** Pods in all that succeeded or failed, those among them that are new included. */
  readonly succeeded: number;
  readonly failed: number;
  readonly backoff: Backoff;
  readonly indexes: Indexes | undefined;
}

/** Of indexed jobs. */
export interface Indexes {
  /** As the status has them. */
  readonly before: IndexSet;
  readonly succeeded: IndexSet;
  /** Only where each index has its own limit. */
  readonly failed: IndexSet | undefined;
  /** The last failed pod of an index that waits to be tried again: it stays until its successor is there. */
  readonly waiting: ReadonlyMap<number, PodObject>;
}

export function survey(job: JobObject, pods: readonly PodObject[], before: Backoff): Survey {
  const status = job.status ?? {};
  const uncounted = {
    succeeded: new Set(status.uncountedTerminatedPods?.succeeded),
    failed: new Set(status.uncountedTerminatedPods?.failed),
  };
  const active = pods.filter(isPodActive);
  const isNew = (pod: PodObject, known: ReadonlySet<string>) =>
    isTracked(pod) &&
    !known.has(pod.metadata.uid) &&
    (!isIndexed(job) || validIndexOf(job, pod) !== undefined);
  const succeeded = pods.filter(
    (pod) => pod.status?.phase === "Succeeded" && isNew(pod, uncounted.succeeded),
  );
  const failed = pods.filter((pod) => isPodFailed(job, pod) && isNew(pod, uncounted.failed));
  const counted = failed.filter((pod) => isFailureCounted(job.spec.podFailurePolicy, pod));
  const indexes = isIndexed(job) ? surveyIndexes(job, pods, active) : undefined;
  return {
    job,
    pods,
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter(isPodTerminating).length,
    uncounted,
    succeeded:
      indexes?.succeeded.size ?? (status.succeeded ?? 0) + succeeded.length + uncounted.succeeded.size,
    failed: (status.failed ?? 0) + counted.length + uncounted.failed.size,
    backoff: nextBackoff(before, succeeded, failed),
    indexes,
  };
}

function surveyIndexes(job: JobObject, pods: readonly PodObject[], active: readonly PodObject[]): Indexes {
  const completions = job.spec.completions ?? 0;
  const tracked = pods.filter(isTracked);
  const before = IndexSet.parse(job.status?.completedIndexes, completions);
  const indexesOf = (some: readonly PodObject[]) =>
    IndexSet.of(some.flatMap((pod) => validIndexOf(job, pod) ?? []));
  const succeeded = before.union(indexesOf(tracked.filter((pod) => pod.status?.phase === "Succeeded")));
  if (!hasLimitPerIndex(job)) return { before, succeeded, failed: undefined, waiting: new Map() };
  const failed = IndexSet.parse(job.status?.failedIndexes, completions).union(
    indexesOf(tracked.filter((pod) => isIndexFailed(job, pod))),
  );
  const busy = indexesOf(active);
  const waiting = new Map<number, PodObject>();
  for (const pod of tracked) {
    const index = validIndexOf(job, pod);
    if (index === undefined || !isPodFailed(job, pod)) continue;
    if (succeeded.has(index) || failed.has(index) || busy.has(index)) continue;
    const other = waiting.get(index);
    const isLater =
      !other || (failuresBefore(other) <= failuresBefore(pod) && finishedMs(pod) >= finishedMs(other));
    if (isLater) waiting.set(index, pod);
  }
  return { before, succeeded, failed, waiting };
}

function isIndexFailed(job: JobObject, pod: PodObject): boolean {
  if (!isPodFailed(job, pod)) return false;
  const match = matchFailurePolicy(job.spec.podFailurePolicy, pod);
  if (match?.action === "FailIndex") return true;
  if (match?.action === "Ignore") return false;
  return countUnder(pod, failureCountAnnotation) >= (job.spec.backoffLimitPerIndex ?? 0);
}
