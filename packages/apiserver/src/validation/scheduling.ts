/** Rules of priority classes. */
import { lookupTable } from "@keelson/core/internal";
import type { PriorityClass } from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import { checkImmutable, checking, checkingUpdate } from "./checks/strategies.ts";

const reserved = "system-";
const highestOfUsers = 1_000_000_000;
const systemValues: Readonly<Record<string, number>> = lookupTable({
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
});
const policies = ["PreemptLowerPriority", "Never"];

function systemProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const expected = systemValues[name];
  if (expected === undefined) return `${name} is not a known system priority class`;
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export const priorityClasses: Strategy = {
  validate: checking<PriorityClass>(
    ({ metadata, value = 0, globalDefault = false, preemptionPolicy }, errors) => {
      const name = metadata?.name ?? "";
      if (name.startsWith(reserved)) {
        const problem = systemProblem(name, value, globalDefault);
        if (problem)
          errors.forbidden(
            "metadata.name",
            `priority class names with '${reserved}' prefix are reserved for system use only. error: ${problem}`,
          );
      } else if (value > highestOfUsers)
        errors.forbidden("value", `maximum allowed value of a user defined priority is ${highestOfUsers}`);
      if ((preemptionPolicy as string | undefined) === "") errors.required("preemptionPolicy");
      else if (preemptionPolicy !== undefined && !policies.includes(preemptionPolicy))
        errors.notSupported("preemptionPolicy", preemptionPolicy, policies);
    },
  ),
  validateUpdate: checkingUpdate<PriorityClass>((now, old, errors) => {
    if ((now.value ?? 0) !== (old.value ?? 0)) errors.forbidden("value", "may not be changed in an update.");
    checkImmutable("preemptionPolicy", now.preemptionPolicy, old.preemptionPolicy, errors);
  }),
};
