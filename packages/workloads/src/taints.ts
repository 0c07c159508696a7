/** Taints keep pods away from nodes; tolerations let them on. */
import type { Taint, Toleration } from "@keelson/core/kinds";

/** What a taint does to pods that do not tolerate it. */
export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

/** Whether a toleration tolerates a taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator || "Equal") {
    case "Equal":
      return toleration.key !== undefined && toleration.key !== ""
        ? (toleration.value ?? "") === (taint.value ?? "")
        : false;
    case "Exists":
      return true;
    default:
      return false;
  }
}

/** Whether one of the tolerations tolerates the taint. */
export function isTolerated(taint: Taint, tolerations: readonly Toleration[] | undefined): boolean {
  return (tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

/** The first taint with one of the effects that nothing tolerates. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly TaintEffect[],
): Taint | undefined {
  return taints?.find(
    (taint) => effects.includes(taint.effect as TaintEffect) && !isTolerated(taint, tolerations),
  );
}
