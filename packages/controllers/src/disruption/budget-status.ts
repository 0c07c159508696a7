/** What a disruption budget's status says: how many pods are well, must be, and may be spared. */
import { deepEqual, formatTime, type ObjectOf, parseTime, setCondition } from "@keelson/core";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "@keelson/core/kinds";
import { isPodReady, type PodObject } from "@keelson/workloads";
import { scaledValue } from "../acting/scaled-value.ts";

export type BudgetObject = ObjectOf<typeof PodDisruptionBudget>;

/** An eviction that was granted counts as done for this long. */
export const deletionTimeoutMs = 120_000;

/** Whether the budget is a share of what the pods' owners want, and not of the pods there are. */
export function needsScale({ spec }: BudgetObject): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === "string";
}

export interface Expected {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/** `count` is the number of pods, or the sum of their owners' scales where the budget needs that. */
export function expectedOf({ spec }: BudgetObject, count: number): Expected {
  if (spec.maxUnavailable !== undefined) {
    const unavailable = scaledValue(spec.maxUnavailable, count, "up");
    return { expectedPods: count, desiredHealthy: Math.max(0, count - unavailable) };
  }
  if (spec.minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  return { expectedPods: count, desiredHealthy: scaledValue(spec.minAvailable, count, "up") };
}

export interface Disrupted {
  /** Pods that will be deleted soon, and when that was promised. */
  readonly pods: Readonly<Record<string, string>>;
  /** Pods for which the promise was not kept. */
  readonly overdue: readonly PodObject[];
  /** When the next promise runs out; undefined without any. */
  readonly recheckMs?: number;
}

export function disruptedPods(budget: BudgetObject, pods: readonly PodObject[], nowMs: number): Disrupted {
  const promised = budget.status?.disruptedPods ?? {};
  const left: Record<string, string> = {};
  const overdue: PodObject[] = [];
  let recheckMs: number | undefined;
  for (const pod of pods) {
    const since = promised[pod.metadata.name];
    if (since === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const waitMs = parseTime(since) + deletionTimeoutMs - nowMs;
    if (waitMs < 0) {
      overdue.push(pod);
      continue;
    }
    left[pod.metadata.name] = since;
    recheckMs = Math.min(recheckMs ?? waitMs, waitMs);
  }
  return { pods: left, overdue, ...(recheckMs === undefined ? {} : { recheckMs }) };
}

export interface BudgetView extends Expected {
  readonly pods: readonly PodObject[];
  readonly disrupted: Disrupted;
}

/** The status as it should be; undefined when it is. */
export function budgetStatus(
  budget: BudgetObject,
  { pods, disrupted, expectedPods, desiredHealthy }: BudgetView,
  nowMs: number,
): PodDisruptionBudgetStatus | undefined {
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disrupted.pods[pod.metadata.name] === undefined &&
      isPodReady(pod),
  ).length;
  // A budget without pods allows nothing: it must be safe when its first pods come.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const { generation } = budget.metadata;
  const isAllowed = disruptionsAllowed > 0;
  const before = budget.status?.conditions ?? [];
  const known = before.find(({ type }) => type === "DisruptionAllowed");
  const counts = {
    ...(Object.keys(disrupted.pods).length > 0 ? { disruptedPods: { ...disrupted.pods } } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
  };
  const { conditions: _, ...counted } = budget.status ?? {};
  const isUpToDate =
    known?.status === (isAllowed ? "True" : "False") && known.observedGeneration === generation;
  if (isUpToDate && deepEqual(counts, counted)) return undefined;
  const condition = {
    type: "DisruptionAllowed",
    status: isAllowed ? ("True" as const) : ("False" as const),
    reason: isAllowed ? "SufficientPods" : "InsufficientPods",
    message: "",
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  return { ...counts, conditions: [...setCondition(before, condition, formatTime(nowMs))] };
}

/** The status when nothing could be counted: nothing may be disrupted, and why. */
export function failedStatus(
  budget: BudgetObject,
  message: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const observedGeneration = budget.status?.observedGeneration;
  const conditions = setCondition(
    budget.status?.conditions ?? [],
    {
      type: "DisruptionAllowed",
      status: "False",
      reason: "SyncFailed",
      message,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    },
    formatTime(nowMs),
  );
  const counts = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  return { ...counts, ...budget.status, disruptionsAllowed: 0, conditions: [...conditions] };
}
