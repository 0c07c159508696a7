/** Conditions in a status: find one, set one, and move its time only when its status moves. */
import type { Condition, Time } from "./object.ts";

/** The condition of that type, if it is there. */
export function findCondition(
  conditions: readonly Condition[] | null | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is there and `True`. */
export function isConditionTrue(conditions: readonly Condition[] | null | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/** Whether the condition is there and `False`. */
export function isConditionFalse(conditions: readonly Condition[] | null | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "False";
}

/** A condition to set; `lastTransitionTime` is normally left to {@link setCondition}. */
export type ConditionUpdate = Omit<Condition, "lastTransitionTime"> & { lastTransitionTime?: Time };

/**
 * The conditions with one added or replaced in place.
 *
 * Guarantees: `lastTransitionTime` changes only when `status` does; the order of the others stays; when
 * nothing changes, the very same array comes back, so that callers can compare by identity.
 */
export function setCondition(
  conditions: readonly Condition[] | null | undefined,
  update: ConditionUpdate,
  now: Time,
): readonly Condition[] {
  const list = conditions ?? [];
  const index = list.findIndex((condition) => condition.type === update.type);
  const existing = list[index];
  const moved = existing === undefined || existing.status !== update.status;
  const next: Condition = {
    ...existing,
    ...update,
    lastTransitionTime: moved ? (update.lastTransitionTime ?? now) : existing.lastTransitionTime,
  };
  if (existing === undefined) return [...list, next];
  if (
    !moved &&
    existing.reason === next.reason &&
    existing.message === next.message &&
    existing.observedGeneration === next.observedGeneration
  ) {
    return list;
  }
  return list.map((condition, i) => (i === index ? next : condition));
}

/** The conditions without one type; the same array when it was not there. */
export function removeCondition(
  conditions: readonly Condition[] | null | undefined,
  type: string,
): readonly Condition[] {
  const list = conditions ?? [];
  return list.some((condition) => condition.type === type)
    ? list.filter((condition) => condition.type !== type)
    : list;
}
