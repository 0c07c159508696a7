/** How long a job waits before it replaces a pod that failed. Pure. */
import type { PodObject } from "@keelson/workloads";
import { finishedMs } from "./job-pods.ts";

/** Failures since the last success. */
export interface Backoff {
  readonly failures: number;
  readonly lastFailureMs: number | undefined;
}

export const noBackoff: Backoff = { failures: 0, lastFailureMs: undefined };

const firstMs = 10_000;
const longestMs = 600_000;

/** Takes in pods that ended since the last look. */
export function nextBackoff(
  before: Backoff,
  succeeded: readonly PodObject[],
  failed: readonly PodObject[],
): Backoff {
  const ends = failed.map(finishedMs);
  if (succeeded.length === 0) {
    if (failed.length === 0) return before;
    return { failures: before.failures + failed.length, lastFailureMs: Math.max(...ends) };
  }
  const lastSuccessMs = Math.max(...succeeded.map(finishedMs));
  const later = ends.filter((end) => end > lastSuccessMs);
  return later.length === 0 ? noBackoff : { failures: later.length, lastFailureMs: Math.max(...later) };
}

/** What is left of the wait; 0 when it is over. */
export function remainingMs({ failures, lastFailureMs }: Backoff, nowMs: number): number {
  if (failures === 0 || lastFailureMs === undefined) return 0;
  const wait = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 20));
  return Math.max(0, lastFailureMs + wait - nowMs);
}
