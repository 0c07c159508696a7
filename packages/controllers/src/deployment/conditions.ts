/** Conditions of deployments: they also remember when they were last touched. */
import type { DeploymentCondition, DeploymentStatus } from "@keelson/core/kinds";

type Conditions = DeploymentStatus["conditions"];

export const progressing = "Progressing";
export const available = "Available";
export const replicaFailure = "ReplicaFailure";

export const reasons = {
  updated: "ReplicaSetUpdated",
  createFailed: "ReplicaSetCreateError",
  created: "NewReplicaSetCreated",
  found: "FoundNewReplicaSet",
  complete: "NewReplicaSetAvailable",
  timedOut: "ProgressDeadlineExceeded",
  paused: "DeploymentPaused",
  resumed: "DeploymentResumed",
  available: "MinimumReplicasAvailable",
  unavailable: "MinimumReplicasUnavailable",
} as const;

export function conditionOf(conditions: Conditions, type: string): DeploymentCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function withoutCondition(conditions: Conditions, type: string): DeploymentCondition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

/** Same status and reason: nothing changes. Same status: the time of transition stays. */
export function withCondition(conditions: Conditions, condition: DeploymentCondition): DeploymentCondition[] {
  const current = conditionOf(conditions, condition.type);
  if (current?.status === condition.status && current.reason === condition.reason)
    return [...(conditions ?? [])];
  const since =
    current?.status === condition.status ? current.lastTransitionTime : condition.lastTransitionTime;
  return [...withoutCondition(conditions, condition.type), { ...condition, lastTransitionTime: since }];
}
