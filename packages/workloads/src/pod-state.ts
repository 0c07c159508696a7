/** What a pod's status says of it: active, ready, available. */
import { type ObjectOf, parseTime } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";

/** A Pod as the server returns it. */
export type PodObject = ObjectOf<typeof Pod>;

type Seen = Pick<PodObject, "metadata" | "status">;

/** Succeeded or failed: its containers will not run again. */
export function isPodFinished(pod: Seen): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Neither finished nor on its way out. */
export function isPodActive(pod: Seen): boolean {
  return !isPodFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Being deleted while its containers may still run. */
export function isPodTerminating(pod: Seen): boolean {
  return !isPodFinished(pod) && pod.metadata.deletionTimestamp !== undefined;
}

/** The condition of that type, if the pod has it. */
export function podCondition(pod: Seen, type: string) {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the condition Ready is True. */
export function isPodReady(pod: Seen): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/** When the pod became ready, in milliseconds; undefined while it is not. */
export function readySince(pod: Seen): number | undefined {
  const ready = podCondition(pod, "Ready");
  if (ready?.status !== "True" || !ready.lastTransitionTime) return undefined;
  return parseTime(ready.lastTransitionTime);
}

/** Ready for at least `minReadySeconds`. */
export function isPodAvailable(pod: Seen, minReadySeconds: number, nowMs: number): boolean {
  if (!isPodReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = readySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= nowMs;
}

/** How long until the next ready pod becomes available; undefined when none is waiting for that. */
export function nextAvailabilityMs(
  pods: readonly Seen[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  let next: number | undefined;
  for (const pod of pods) {
    const since = readySince(pod);
    if (since === undefined || isPodAvailable(pod, minReadySeconds, nowMs)) continue;
    const wait = since + minReadySeconds * 1000 - nowMs;
    if (next === undefined || wait < next) next = wait;
  }
  return next;
}
