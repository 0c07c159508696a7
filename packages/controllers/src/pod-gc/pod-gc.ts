/** Pods that nobody else will remove. Pure. */
import { compareBytes } from "@keelson/core/internal";
import type { NodeObject } from "@keelson/workloads";
import { isPodFinished, type PodObject } from "@keelson/workloads";
import { readyOf } from "../nodes/node-health.ts";

const outOfService = "node.kubernetes.io/out-of-service";

/** Deleted before it had a node: no kubelet will ever see it. */
export function isUnscheduledAndLeaving({ metadata, spec }: PodObject): boolean {
  return metadata.deletionTimestamp !== undefined && !spec.nodeName;
}

/** Being deleted on a node of which a person said that it will not come back as it was. */
export function isLostOnNode({ metadata }: PodObject, node: NodeObject | undefined): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    node !== undefined &&
    readyOf(node)?.status !== "True" &&
    (node.spec.taints ?? []).some(({ key }) => key === outOfService)
  );
}

/** Finished pods beyond what is kept: those that were evicted first, then the oldest. */
export function surplusOfFinished(pods: readonly PodObject[], kept: number): PodObject[] {
  const finished = pods.filter(isPodFinished);
  const isEvicted = ({ status }: PodObject) => status?.phase === "Failed" && status.reason === "Evicted";
  return finished
    .toSorted(
      (a, b) =>
        Number(isEvicted(b)) - Number(isEvicted(a)) ||
        compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
        compareBytes(a.metadata.name, b.metadata.name),
    )
    .slice(0, Math.max(0, finished.length - kept));
}
