/** Rollouts that failed: what was in their way may be gone later, so they are tried again, less and less often. */
import type { Status, Template } from "../api/cluster.ts";
import type { Observed } from "../observe/observed.ts";

/** Pause before the second attempt; it doubles with every attempt. */
const firstPauseMs = 5 * 60_000;
const longestPauseMs = 6 * 3_600_000;

type FailedRollout = NonNullable<Status["failedRollout"]>;

/** The record of a failure, one more when the same template failed before. */
export function failedRollout(
  o: Pick<Observed, "nowMs" | "status">,
  { hash, recipe }: Template,
  message: string,
): FailedRollout {
  const before = o.status.failedRollout;
  const attempts = before?.hash === hash ? (before.attempts ?? 1) + 1 : 1;
  const retryAt = new Date(o.nowMs + pauseAfter(attempts)).toISOString();
  return { hash, version: recipe.version, message, attempts, retryAt };
}

/** The failure of a template, until it is tried again. */
export function failureOf(o: Observed, hash: string): FailedRollout | undefined {
  const failed = o.status.failedRollout;
  if (failed?.hash !== hash) return undefined;
  if (failed.retryAt === undefined) return failed;
  const leftMs = Date.parse(failed.retryAt) - o.nowMs;
  // More than the whole pause means that the clock was set back.
  return leftMs > 0 && leftMs <= pauseAfter(failed.attempts ?? 1) ? failed : undefined;
}

function pauseAfter(attempts: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1));
}
