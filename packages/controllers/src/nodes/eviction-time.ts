/** When a pod has to leave a node that drives pods out. Pure. */
import { parseTime } from "@keelson/core";
import type { Taint, Toleration } from "@keelson/core/kinds";
import { tolerates } from "@keelson/workloads";

/**
 * The moment in milliseconds at which the pod must go: now when a taint is not tolerated, later when it is for some
 * seconds, undefined when for ever. The first of the tolerations with a limit counts for all taints.
 */
export function evictionTimeMs(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  nowMs: number,
): number | undefined {
  const driving = taints.filter(({ effect }) => effect === "NoExecute");
  if (driving.length === 0) return undefined;
  const used = driving.map((taint) => tolerations.filter((toleration) => tolerates(toleration, taint)));
  if (used.some((matching) => matching.length === 0)) return nowMs;
  const limits = used.flatMap((matching) =>
    // Of several that tolerate one taint the first is the one that counts.
    matching.slice(0, 1).flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []),
  );
  if (limits.length === 0) return undefined;
  const since = Math.min(...driving.map(({ timeAdded }) => (timeAdded ? parseTime(timeAdded) : nowMs)));
  return Math.max(since, 0) + Math.max(0, Math.min(...limits)) * 1000;
}
