/** Which pod goes first when there are too many: the one that will be missed the least. */
import { parseTime } from "@keelson/core";
import { compareBytes, lookupTable } from "@keelson/core/internal";
import { isPodActive, isPodReady, type PodObject, readySince } from "@keelson/workloads";

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const phaseOrder: Record<string, number> = lookupTable({ Pending: 0, Unknown: 1, Running: 2 });

/**
 * The first `count` pods in order of dispensability. `related` are all pods of the same application: of two pods the
 * one whose node holds more of them goes first.
 */
export function podsToDelete(
  pods: readonly PodObject[],
  related: readonly PodObject[],
  count: number,
  nowMs: number,
): PodObject[] {
  if (count >= pods.length) return [...pods];
  const onNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec.nodeName ?? "";
    if (isPodActive(pod)) onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const rank = (pod: PodObject) => onNode.get(pod.spec.nodeName ?? "") ?? 0;
  return pods.toSorted((a, b) => compareForDeletion(a, b, rank, nowMs)).slice(0, count);
}

/** Negative when `a` goes before `b`. */
export function compareForDeletion(
  a: PodObject,
  b: PodObject,
  rank: (pod: PodObject) => number,
  nowMs: number,
): number {
  return (
    Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
    (phaseOrder[a.status?.phase ?? ""] ?? 0) - (phaseOrder[b.status?.phase ?? ""] ?? 0) ||
    Number(isPodReady(a)) - Number(isPodReady(b)) ||
    cost(a) - cost(b) ||
    rank(b) - rank(a) ||
    compareReadyTime(a, b, nowMs) ||
    restarts(b) - restarts(a) ||
    compareAge(parseTime(a.metadata.creationTimestamp), parseTime(b.metadata.creationTimestamp), a, b, nowMs)
  );
}

function cost(pod: PodObject): number {
  const value = pod.metadata.annotations?.[deletionCost];
  return value !== undefined && /^-?(0|[1-9]\d*)$/.test(value) ? Number(value) : 0;
}

function restarts(pod: PodObject): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function compareReadyTime(a: PodObject, b: PodObject, nowMs: number): number {
  const left = readySince(a);
  const right = readySince(b);
  if (left === undefined || right === undefined || left === right) return 0;
  return compareAge(left, right, a, b, nowMs);
}

/** Ages of the same magnitude count as equal, so that not always the youngest goes; the UID decides then. */
function compareAge(left: number, right: number, a: PodObject, b: PodObject, nowMs: number): number {
  if (left === right) return 0;
  return magnitude(nowMs - left) - magnitude(nowMs - right) || compareBytes(a.metadata.uid, b.metadata.uid);
}

function magnitude(ageMs: number): number {
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6));
}
