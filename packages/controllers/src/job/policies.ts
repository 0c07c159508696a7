/** What a job's own policies say of failures and successes. Pure. */
import type { PodFailurePolicy, SuccessPolicy } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { IndexSet } from "./indexes.ts";

export interface FailureMatch {
  readonly action: "FailJob" | "FailIndex" | "Ignore" | "Count";
  /** Why the whole job fails. */
  readonly message: string;
}

/** What the first rule that matches says of a failed pod; undefined when none does. */
export function matchFailurePolicy(
  policy: PodFailurePolicy | undefined,
  pod: PodObject,
): FailureMatch | undefined {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const matching = `matching ${rule.action} rule at index ${index}`;
    const action = rule.action as FailureMatch["action"];
    if (rule.onExitCodes) {
      const { containerName, operator, values } = rule.onExitCodes;
      const statuses = [
        ...(pod.status?.containerStatuses ?? []),
        ...(pod.status?.initContainerStatuses ?? []),
      ];
      const failed = statuses.find(({ name: container, state }) => {
        const code = state?.terminated?.exitCode ?? 0;
        const isMeant = containerName === undefined || containerName === container;
        return isMeant && code !== 0 && values.includes(code) === (operator === "In");
      });
      if (!failed) continue;
      const code = failed.state?.terminated?.exitCode;
      return {
        action,
        message: `Container ${failed.name} for pod ${name} failed with exit code ${code} ${matching}`,
      };
    }
    const condition = pod.status?.conditions?.find(({ type, status }) =>
      rule.onPodConditions?.some((pattern) => pattern.type === type && (pattern.status ?? "True") === status),
    );
    if (condition) return { action, message: `Pod ${name} has condition ${condition.type} ${matching}` };
  }
  return undefined;
}

/** Whether the failure counts towards the job's limits. */
export function isFailureCounted(policy: PodFailurePolicy | undefined, pod: PodObject): boolean {
  return matchFailurePolicy(policy, pod)?.action !== "Ignore";
}

/** The message of the first rule that these indexes satisfy. */
export function matchSuccessPolicy(
  policy: SuccessPolicy | undefined,
  completions: number,
  succeeded: IndexSet,
): string | undefined {
  if (!policy || succeeded.size === 0) return undefined;
  const met = policy.rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined)
      return succeededCount !== undefined && succeeded.size >= succeededCount;
    const required = IndexSet.parse(succeededIndexes, completions);
    if (required.size === 0) return false;
    const common = required.common(succeeded);
    return common === required.size || (succeededCount !== undefined && common >= succeededCount);
  });
  return met < 0 ? undefined : `Matched rules at index ${met}`;
}
