/** What the status of a replica set says of its pods. */
import { deepEqual, formatTime, labelSelectorFromLabels, matchesLabels, type ObjectOf } from "@keelson/core";
import type { ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from "@keelson/core/kinds";
import { isPodAvailable, isPodReady, type PodObject } from "@keelson/workloads";
import { omitEmpty } from "../acting/omit-empty.ts";

export type ReplicaSetObject = ObjectOf<typeof ReplicaSet>;

export interface Replicas {
  readonly active: readonly PodObject[];
  readonly terminating: readonly PodObject[];
}

/** What went wrong while pods were made or removed. */
export interface ReplicaFailure {
  readonly message: string;
}

/** The status as it should be. `countsTerminating` is true of replica sets, not of replication controllers. */
export function replicaStatus(
  set: ReplicaSetObject,
  { active, terminating }: Replicas,
  failure: ReplicaFailure | undefined,
  options: { readonly nowMs: number; readonly countsTerminating: boolean },
): ReplicaSetStatus {
  const labels = labelSelectorFromLabels(set.spec.template?.metadata?.labels ?? {});
  const ready = active.filter(isPodReady);
  const minReady = set.spec.minReadySeconds ?? 0;
  return {
    ...omitEmpty({
      fullyLabeledReplicas: active.filter((pod) => matchesLabels(labels, pod.metadata.labels)).length,
      readyReplicas: ready.length,
      availableReplicas: ready.filter((pod) => isPodAvailable(pod, minReady, options.nowMs)).length,
      observedGeneration: set.metadata.generation,
      conditions: replicaConditions(set, active.length, failure, options.nowMs),
    }),
    replicas: active.length,
    ...(options.countsTerminating ? { terminatingReplicas: terminating.length } : {}),
  };
}

function replicaConditions(
  set: ReplicaSetObject,
  count: number,
  failure: ReplicaFailure | undefined,
  nowMs: number,
): ReplicaSetCondition[] {
  const conditions = set.status?.conditions ?? [];
  const known = conditions.some(({ type }) => type === "ReplicaFailure");
  if (!failure) return conditions.filter(({ type }) => type !== "ReplicaFailure");
  if (known) return [...conditions];
  const condition: ReplicaSetCondition = {
    type: "ReplicaFailure",
    status: "True",
    lastTransitionTime: formatTime(nowMs),
    reason: count < (set.spec.replicas ?? 1) ? "FailedCreate" : "FailedDelete",
    message: failure.message,
  };
  return [...conditions, condition];
}

export function sameStatus(set: ReplicaSetObject, status: ReplicaSetStatus): boolean {
  return deepEqual(set.status ?? {}, status);
}
