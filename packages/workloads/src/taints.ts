/** Taints keep pods away from nodes; tolerations let them on. */
import type { Taint, Toleration } from "@keelson/core/kinds";

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

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
