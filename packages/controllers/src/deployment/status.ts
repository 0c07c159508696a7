/** The status of a deployment: counts, availability, progress and its deadline. */
import { formatTime, parseTime } from "@keelson/core";
import type { DeploymentCondition, DeploymentStatus } from "@keelson/core/kinds";
import { omitEmpty } from "../acting/omit-empty.ts";
import type { ReplicaSetObject } from "../replicas/replica-status.ts";
import {
  available,
  conditionOf,
  progressing,
  reasons,
  replicaFailure,
  withCondition,
  withoutCondition,
} from "./conditions.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import { maxUnavailable } from "./limits.ts";
import { sum, sumOfSizes, sumOfTerminating } from "./replica-sets.ts";

export interface Sets {
  readonly newest: ReplicaSetObject | undefined;
  readonly old: readonly ReplicaSetObject[];
}

const never = 0x7fffffff;

export function hasProgressDeadline({ spec }: DeploymentObject): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== never;
}

/** Counts and availability, without progress. */
export function countedStatus(deployment: DeploymentObject, sets: Sets, nowMs: number): DeploymentStatus {
  const all = sets.newest ? [...sets.old, sets.newest] : sets.old;
  const availableReplicas = sum(all, "availableReplicas");
  const terminating = sumOfTerminating(all);
  const isAvailable = availableReplicas >= (deployment.spec.replicas ?? 1) - maxUnavailable(deployment);
  const status = omitEmpty<DeploymentStatus>({
    observedGeneration: deployment.metadata.generation,
    replicas: sum(all, "replicas"),
    updatedReplicas: sets.newest?.status?.replicas ?? 0,
    readyReplicas: sum(all, "readyReplicas"),
    availableReplicas,
    unavailableReplicas: Math.max(0, sumOfSizes(all) - availableReplicas),
    conditions: withCondition(deployment.status?.conditions, {
      type: available,
      status: isAvailable ? "True" : "False",
      reason: isAvailable ? reasons.available : reasons.unavailable,
      message: isAvailable
        ? "Deployment has minimum availability."
        : "Deployment does not have minimum availability.",
      ...stamped(nowMs),
    }),
  });
  const { collisionCount } = deployment.status ?? {};
  return {
    ...status,
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}

function stamped(nowMs: number): { lastUpdateTime: string; lastTransitionTime: string } {
  return { lastUpdateTime: formatTime(nowMs), lastTransitionTime: formatTime(nowMs) };
}

export function progressCondition(
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
  nowMs: number,
): DeploymentCondition {
  return { type: progressing, status, reason, message, ...stamped(nowMs) };
}

/** Counts, availability and progress. */
export function rolloutStatus(deployment: DeploymentObject, sets: Sets, nowMs: number): DeploymentStatus {
  const counted = countedStatus(deployment, sets, nowMs);
  const { conditions = [], ...rest } = counted;
  const progressed = hasProgressDeadline(deployment)
    ? withProgress(deployment, counted, conditions, sets, nowMs)
    : withoutCondition(conditions, progressing);
  const failure = replicaFailures(sets)[0];
  const all = failure ? withCondition(progressed, failure) : withoutCondition(progressed, replicaFailure);
  return { ...rest, ...(all.length > 0 ? { conditions: all } : {}) };
}

function withProgress(
  deployment: DeploymentObject,
  status: DeploymentStatus,
  conditions: DeploymentCondition[],
  { newest }: Sets,
  nowMs: number,
): DeploymentCondition[] {
  const current = conditionOf(deployment.status?.conditions, progressing);
  const settled =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === reasons.complete;
  if (settled) return conditions;
  const subject = newest
    ? `ReplicaSet "${newest.metadata.name}"`
    : `Deployment "${deployment.metadata.name}"`;
  const make = (ok: "True" | "False", reason: string, message: string) =>
    progressCondition(ok, reason, `${subject} ${message}`, nowMs);
  if (isComplete(deployment, status)) {
    return withCondition(conditions, make("True", reasons.complete, "has successfully progressed."));
  }
  if (isProgressing(deployment, status)) {
    const moving = make("True", reasons.updated, "is progressing.");
    const since = current?.status === "True" ? current.lastTransitionTime : moving.lastTransitionTime;
    // The deadline counts from the last update, so even the same condition is written again.
    return [...withoutCondition(conditions, progressing), { ...moving, lastTransitionTime: since }];
  }
  if (isTimedOut(deployment, conditions, nowMs)) {
    return withCondition(conditions, make("False", reasons.timedOut, "has timed out progressing."));
  }
  return conditions;
}

/** Every pod is of the new template, available, and no other is left. */
export function isComplete(deployment: DeploymentObject, status: DeploymentStatus | undefined): boolean {
  const { replicas = 1 } = deployment.spec;
  return (
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/** Something went forward since the status was last written. */
function isProgressing({ status: before }: DeploymentObject, now: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus | undefined) =>
    (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  return (
    (now.updatedReplicas ?? 0) > (before?.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before?.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before?.availableReplicas ?? 0)
  );
}

function isTimedOut({ spec }: DeploymentObject, conditions: DeploymentCondition[], nowMs: number): boolean {
  const condition = conditionOf(conditions, progressing);
  if (!condition || condition.reason === reasons.complete) return false;
  if (condition.reason === reasons.timedOut) return true;
  return updatedAt(condition) + (spec.progressDeadlineSeconds ?? 0) * 1000 < nowMs;
}

function updatedAt({ lastUpdateTime }: DeploymentCondition): number {
  return lastUpdateTime ? parseTime(lastUpdateTime) : 0;
}

/** When to look whether the deadline has passed; undefined when nothing is under way. */
export function deadlineCheckMs(
  deployment: DeploymentObject,
  status: DeploymentStatus,
  nowMs: number,
): number | undefined {
  const current = conditionOf(status.conditions, progressing);
  if (!hasProgressDeadline(deployment) || !current) return undefined;
  if (isComplete(deployment, status) || current.reason === reasons.timedOut) return undefined;
  const deadline = updatedAt(current) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000;
  // Times have whole seconds: a moment later the deadline has passed for sure.
  return Math.max(0, deadline - nowMs) + 1000;
}

/** Why replica sets cannot make or remove pods: the new one's word first. */
function replicaFailures({ newest, old }: Sets): DeploymentCondition[] {
  const of = (sets: readonly ReplicaSetObject[]) =>
    sets
      .flatMap((set) => set.status?.conditions ?? [])
      .filter(({ type }) => type === replicaFailure)
      .map((condition) => ({ ...condition, lastUpdateTime: condition.lastTransitionTime }));
  const first = newest ? of([newest]) : [];
  return first.length > 0 ? first : of(old);
}
