/** Conditions as kro writes them: each with its generation, and Ready as the sum of the others. */
import type { GraphCondition } from "../api/definition.ts";

/** A condition without its times. */
export interface Finding {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Times stay while the status stays. */
export function stamped(
  findings: readonly Finding[],
  previous: readonly GraphCondition[] | undefined,
  at: { readonly generation: number; readonly now: string },
): GraphCondition[] {
  return findings.map(({ type, status, reason, message }) => {
    const before = previous?.find((each) => each.type === type);
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? at.now) : at.now,
      observedGeneration: at.generation,
    };
  });
}

/** Ready when all are: otherwise it repeats what is wrong, and what is only not known yet comes last. */
export function withReady(findings: readonly Finding[]): Finding[] {
  const unhealthy =
    findings.findLast(({ status }) => status === "False") ??
    findings.findLast(({ status }) => status === "Unknown");
  const ready: Finding = unhealthy
    ? { ...unhealthy, type: "Ready" }
    : { type: "Ready", status: "True", reason: "Ready", message: "" };
  return [...findings, ready];
}

/** What has not been looked at. */
export function awaiting(type: string): Finding {
  return {
    type,
    status: "Unknown",
    reason: "AwaitingReconciliation",
    message: `condition "${type}" is awaiting reconciliation`,
  };
}
