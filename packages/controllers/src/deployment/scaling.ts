/** Sizes of replica sets: while rolling from one to the next, and when the deployment's own size changes. */

import { scaledValue } from "../acting/scaled-value.ts";
import type { ReplicaSetObject } from "../replicas/replica-status.ts";
import { countUnder, desiredReplicasAnnotation, maxReplicasAnnotation } from "./annotations.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import { isRollingUpdate, maxSurge, maxUnavailable } from "./limits.ts";
import { active, byAge, bySize, sizeOf, sum, sumOfSizes } from "./replica-sets.ts";

/** A set and the size it should get. */
export interface Resize {
  readonly set: ReplicaSetObject;
  readonly replicas: number;
}

/** How many the new set may have now; `all` counts it too, with the size it has. */
export function newSetSize(deployment: DeploymentObject, allSizes: number, newSize: number): number {
  const { replicas = 1, strategy } = deployment.spec;
  if (!isRollingUpdate(deployment)) return replicas;
  const most = replicas + scaledValue(strategy?.rollingUpdate?.maxSurge, replicas, "up");
  if (allSizes >= most) return newSize;
  return newSize + Math.min(most - allSizes, replicas - newSize);
}

/**
 * What the old sets give up in one step of a rolling update: first pods that are not available anyway, then as many
 * as availability allows.
 */
export function oldSetSizes(
  deployment: DeploymentObject,
  newest: ReplicaSetObject,
  old: readonly ReplicaSetObject[],
): Resize[] {
  const olds = active(old).toSorted(byAge);
  if (olds.length === 0) return [];
  const least = (deployment.spec.replicas ?? 1) - maxUnavailable(deployment);
  const newUnavailable = sizeOf(newest) - (newest.status?.availableReplicas ?? 0);
  const spare = sumOfSizes(olds) + sizeOf(newest) - least - newUnavailable;
  if (spare <= 0) return [];
  const sizes = new Map(olds.map((set) => [set, sizeOf(set)]));
  let left = spare;
  for (const set of olds) {
    const unhealthy = Math.min(left, sizeOf(set) - (set.status?.availableReplicas ?? 0));
    if (unhealthy <= 0) continue;
    sizes.set(set, sizeOf(set) - unhealthy);
    left -= unhealthy;
  }
  let surplus = sum([...olds, newest], "availableReplicas") - least;
  for (const set of olds) {
    if (surplus <= 0) break;
    const size = sizes.get(set) ?? 0;
    const less = Math.min(size, surplus);
    sizes.set(set, size - less);
    surplus -= less;
  }
  return olds
    .map((set) => ({ set, replicas: sizes.get(set) ?? 0 }))
    .filter(({ set, replicas }) => replicas !== sizeOf(set));
}

/** Whether the deployment's size changed since its sets were last scaled. */
export function isScalingEvent(deployment: DeploymentObject, sets: readonly ReplicaSetObject[]): boolean {
  return active(sets).some((set) => {
    const desired = countUnder(set, desiredReplicasAnnotation);
    return desired !== undefined && desired !== (deployment.spec.replicas ?? 1);
  });
}

/** Whether the new set has everything it was asked for. */
export function isSaturated(deployment: DeploymentObject, set: ReplicaSetObject | undefined): boolean {
  const { replicas = 1 } = deployment.spec;
  return (
    set !== undefined &&
    sizeOf(set) === replicas &&
    countUnder(set, desiredReplicasAnnotation) === replicas &&
    (set.status?.availableReplicas ?? 0) === replicas
  );
}

/**
 * A new total in the middle of a rolling update is shared by all sets in proportion to what they have, so that a
 * rollout that fails does not grow; what rounding leaves over goes to the largest.
 */
export function proportionalSizes(deployment: DeploymentObject, all: readonly ReplicaSetObject[]): Resize[] {
  const { replicas = 1 } = deployment.spec;
  const allowed = replicas > 0 ? replicas + maxSurge(deployment) : 0;
  const toAdd = allowed - sumOfSizes(all);
  const sets = active(all).toSorted(bySize(toAdd > 0 ? "newer" : "older"));
  let added = 0;
  const sizes = sets.map((set) => {
    const share = proportion(deployment, set, toAdd, added);
    added += share;
    return sizeOf(set) + share;
  });
  if (sizes[0] !== undefined && toAdd !== 0) sizes[0] = Math.max(0, sizes[0] + toAdd - added);
  return sets.map((set, index) => ({ set, replicas: sizes[index] ?? 0 }));
}

function proportion(
  deployment: DeploymentObject,
  set: ReplicaSetObject,
  toAdd: number,
  added: number,
): number {
  if (toAdd === 0 || toAdd === added) return 0;
  const share = fraction(deployment, set);
  return toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
}

function fraction(deployment: DeploymentObject, set: ReplicaSetObject): number {
  const { replicas = 1 } = deployment.spec;
  const size = sizeOf(set);
  if (replicas === 0) return -size;
  const before = countUnder(set, maxReplicasAnnotation) || deployment.status?.replicas || 0;
  if (before === 0) return 0;
  return Math.round((size * (replicas + maxSurge(deployment))) / before) - size;
}
