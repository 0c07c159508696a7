/** How far a rolling update may go beyond and below the wanted size. */
import { scaledValue } from "../acting/scaled-value.ts";
import type { DeploymentObject } from "./deployment-object.ts";

export function isRollingUpdate(deployment: DeploymentObject): boolean {
  return deployment.spec.strategy?.type !== "Recreate";
}

function fences(deployment: DeploymentObject): { surge: number; unavailable: number } {
  const { replicas = 1, strategy } = deployment.spec;
  const surge = scaledValue(strategy?.rollingUpdate?.maxSurge, replicas, "up");
  const unavailable = scaledValue(strategy?.rollingUpdate?.maxUnavailable, replicas, "down");
  // Both zero would never move: percentages of a small number may round to that.
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}

export function maxSurge(deployment: DeploymentObject): number {
  return isRollingUpdate(deployment) ? fences(deployment).surge : 0;
}

export function maxUnavailable(deployment: DeploymentObject): number {
  const { replicas = 1 } = deployment.spec;
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(fences(deployment).unavailable, replicas);
}
