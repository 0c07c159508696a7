/** Rules of the policy group: disruption budgets. */
import type { PodDisruptionBudget } from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import { checkConditions } from "./checks/conditions.ts";
import type { Errors } from "./checks/errors.ts";
import { checkAtMostAll, checkIntOrPercent } from "./checks/percentages.ts";
import { checkSelector } from "./checks/selectors.ts";
import { checkedAlike, checkingUpdate, checkNotNegative } from "./checks/strategies.ts";

const evictionPolicies = ["AlwaysAllow", "IfHealthyBudget"];

function check({ spec = {} }: PodDisruptionBudget, errors: Errors): void {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    errors.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set");
  for (const [field, value] of Object.entries({ minAvailable, maxUnavailable })) {
    if (value === undefined) continue;
    checkIntOrPercent(`spec.${field}`, value, errors);
    checkAtMostAll(`spec.${field}`, value, errors);
  }
  checkSelector("spec.selector", selector, errors);
  if (policy !== undefined && !evictionPolicies.includes(policy))
    errors.notSupported("spec.unhealthyPodEvictionPolicy", policy, evictionPolicies);
}

const counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const;

export const podDisruptionBudgets: Strategy = {
  validateName: () => [],
  ...checkedAlike(check),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<PodDisruptionBudget>(({ status }, _old, errors) => {
        checkConditions("status.conditions", status?.conditions ?? [], errors);
        for (const field of counts) checkNotNegative(`status.${field}`, status?.[field], errors);
      }),
    },
  },
};
