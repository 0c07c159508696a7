/** What a job knows of its pods: their index, whether they are counted, when they ended. */
import { type ObjectOf, parseTime } from "@keelson/core";
import type { Job } from "@keelson/core/kinds";
import { type PodObject, podCondition } from "@keelson/workloads";

export type JobObject = ObjectOf<typeof Job>;

export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";
export const failureCountAnnotation = "batch.kubernetes.io/job-index-failure-count";
export const ignoredFailureCountAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count";

export function isIndexed({ spec }: JobObject): boolean {
  return spec.completionMode === "Indexed";
}

/** Each index has failures of its own, and fails alone. */
export function hasLimitPerIndex({ spec }: JobObject): boolean {
  return spec.backoffLimitPerIndex !== undefined;
}

export function isSuspended({ spec }: JobObject): boolean {
  return spec.suspend === true;
}

/** Pods on their way out are not replaced before they have ended. */
export function replacesOnlyFailed({ spec }: JobObject): boolean {
  return spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined;
}

/** The pod is not yet counted. */
export function isTracked({ metadata }: PodObject): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

export function indexOf({ metadata }: PodObject): number | undefined {
  const value = metadata.annotations?.[indexAnnotation];
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** The pod's index, where it is one that the job has. */
export function validIndexOf(job: JobObject, pod: PodObject): number | undefined {
  const index = indexOf(pod);
  return index !== undefined && index < (job.spec.completions ?? 0) ? index : undefined;
}

export function isPodFailed(job: JobObject, { metadata, status }: PodObject): boolean {
  if (status?.phase === "Failed") return true;
  if (replacesOnlyFailed(job)) return false;
  return metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded";
}

export function countUnder({ metadata }: PodObject, annotation: string): number {
  const value = metadata.annotations?.[annotation];
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : 0;
}

/** Failures of the pod's index before it, also those that did not count. */
export function failuresBefore(pod: PodObject): number {
  return countUnder(pod, failureCountAnnotation) + countUnder(pod, ignoredFailureCountAnnotation);
}

/** When the pod ended, as well as can be told, in milliseconds. */
export function finishedMs(pod: PodObject): number {
  const { metadata, spec, status } = pod;
  const sidecars = new Set(
    (spec.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => name),
  );
  const ends = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ].map(({ state }) => state?.terminated?.finishedAt);
  if (ends.length > 0 && ends.every((end) => end))
    return Math.max(...ends.map((end) => parseTime(end ?? "")));
  const ready = podCondition(pod, "Ready");
  if (ready?.status === "False" && ready.lastTransitionTime) return parseTime(ready.lastTransitionTime);
  if (metadata.deletionTimestamp !== undefined) {
    return parseTime(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  }
  return parseTime(metadata.creationTimestamp);
}
