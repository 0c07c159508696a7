/** Tells on a pod why it has no node. */
import { isNotFound } from "@keelson/client";
import { formatTime, type JsonObject } from "@keelson/core";
import { Pod } from "@keelson/core/kinds";
import { type PodObject, podCondition } from "@keelson/workloads";
import type { Acting } from "../acting/acting.ts";

const longestMessage = 1024;

export interface SchedulingFailure {
  readonly message: string;
  /** Default: `Unschedulable`. */
  readonly reason?: string;
  /** Where room is being made for the pod. */
  readonly nominatedNode?: string;
}

export async function markUnschedulable(
  acting: Acting,
  pod: PodObject,
  { message, reason = "Unschedulable", nominatedNode }: SchedulingFailure,
): Promise<void> {
  const told = message.length > longestMessage ? `${message.slice(0, longestMessage - 4)} ...` : message;
  acting.event(pod, "Warning", "FailedScheduling", told);
  const current = podCondition(pod, "PodScheduled");
  const isTold = current?.status === "False" && current.reason === reason && current.message === message;
  const isNominated = nominatedNode === undefined || pod.status?.nominatedNodeName === nominatedNode;
  if (isTold && isNominated) return;
  const condition: JsonObject = {
    type: "PodScheduled",
    status: "False",
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime:
      current?.status === "False" && current.lastTransitionTime
        ? current.lastTransitionTime
        : formatTime(acting.clock.now()),
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
  const status: JsonObject = {
    conditions: [condition],
    ...(nominatedNode === undefined ? {} : { nominatedNodeName: nominatedNode }),
  };
  const { name, namespace } = pod.metadata;
  try {
    await acting
      .kind(Pod)
      .subresource("status")
      .patch({ name, namespace }, { type: "strategic", body: { status } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
