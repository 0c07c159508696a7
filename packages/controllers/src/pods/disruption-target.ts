/** Marks pods that are about to be removed for reasons of the cluster, not of their own. */
import type { JsonObject } from "@keelson/core";
import { Pod } from "@keelson/core/kinds";
import { type PodObject, podCondition } from "@keelson/workloads";
import type { Acting } from "../acting/acting.ts";

export interface Disruption {
  readonly reason: string;
  readonly message: string;
  readonly at: string;
  /** Ends the pod as well. */
  readonly phase?: "Failed";
}

export async function markDisrupted(acting: Acting, pod: PodObject, disruption: Disruption): Promise<void> {
  const { reason, message, at, phase } = disruption;
  const current = podCondition(pod, "DisruptionTarget");
  const isMarked = current?.status === "True" && current.reason === reason;
  if (isMarked && (phase === undefined || pod.status?.phase === phase)) return;
  const condition: JsonObject = {
    type: "DisruptionTarget",
    status: "True",
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime: current?.status === "True" ? (current.lastTransitionTime ?? at) : at,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
  const { name, namespace, uid } = pod.metadata;
  await acting
    .kind(Pod)
    .subresource("status")
    .patch(
      { name, namespace },
      {
        type: "strategic",
        body: { metadata: { uid }, status: { conditions: [condition], ...(phase ? { phase } : {}) } },
      },
    );
}
