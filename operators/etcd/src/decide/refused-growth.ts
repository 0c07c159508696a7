/** Volumes that may not grow: the quota or the storage class may be corrected, so it is tried again, less and less often. */
import type { Status } from "../api/cluster.ts";
import type { Observed } from "../observe/observed.ts";

/** Pause before the second attempt; it doubles with every attempt. */
const firstPauseMs = 30_000;
const longestPauseMs = 10 * 60_000;

type RefusedGrowth = NonNullable<Status["refusedGrowth"]>;

/** The record of a refusal, one more when the same size was refused before. */
export function refusedGrowth(o: Observed, message: string): RefusedGrowth {
  const attempts = (refusalNow(o)?.attempts ?? 0) + 1;
  const retryAt = new Date(o.nowMs + pauseAfter(attempts)).toISOString();
  return { size: String(o.spec.storage.size), message, attempts, retryAt };
}

/** The refusal of the size that the spec asks for. */
export function refusalNow({ status, spec }: Observed): RefusedGrowth | undefined {
  return status.refusedGrowth?.size === String(spec.storage.size) ? status.refusedGrowth : undefined;
}

/** Whether volumes may be grown now. */
export function mayGrow(o: Observed): boolean {
  const refused = refusalNow(o);
  if (refused?.retryAt === undefined) return true;
  const leftMs = Date.parse(refused.retryAt) - o.nowMs;
  // More than the whole pause means that the clock was set back.
  return !(leftMs > 0 && leftMs <= pauseAfter(refused.attempts ?? 1));
}

function pauseAfter(attempts: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1));
}
