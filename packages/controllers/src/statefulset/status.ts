/** The status of a stateful set. */
import type { StatefulSetStatus } from "@keelson/core/kinds";
import { isPodAvailable, isPodReady, type PodObject } from "@keelson/workloads";
import { omitEmpty } from "../acting/omit-empty.ts";
import { replicasOf, revisionOf, type StatefulSetObject } from "./identity.ts";

export interface StatusInput {
  readonly set: StatefulSetObject;
  readonly pods: readonly PodObject[];
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly collisionCount: number;
  readonly nowMs: number;
}

export function statefulSetStatus(input: StatusInput): StatefulSetStatus {
  const { set, pods, currentRevision, updateRevision, collisionCount, nowMs } = input;
  const made = pods.filter((pod) => pod.status?.phase);
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isPodReady(pod));
  const staying = made.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const at = (revision: string) => staying.filter((pod) => revisionOf(pod) === revision).length;
  const wanted = replicasOf(set);
  const updated = at(updateRevision);
  // All pods are of the new revision: it is the current one from now on.
  const isComplete =
    set.spec.updateStrategy?.type !== "OnDelete" &&
    updated === wanted &&
    ready.length === wanted &&
    made.length === wanted;
  const minReady = set.spec.minReadySeconds ?? 0;
  const { conditions } = set.status ?? {};
  return {
    ...omitEmpty({
      observedGeneration: set.metadata.generation,
      readyReplicas: ready.length,
      currentReplicas: isComplete ? updated : at(currentRevision),
      updatedReplicas: updated,
      currentRevision: isComplete ? updateRevision : currentRevision,
      updateRevision,
      conditions,
    }),
    replicas: made.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, minReady, nowMs)).length,
    collisionCount,
  };
}
