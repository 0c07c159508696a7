/** Conditions of a status in their common shape. */
import type { Condition } from "@keelson/core";
import type { Errors } from "./errors.ts";
import { patternMismatch } from "./formats.ts";
import { checkLabelKey } from "./selectors.ts";

const statuses = ["False", "True", "Unknown"];
const reasonPattern = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reason = new RegExp(`^${reasonPattern}$`);
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric " +
  "characters or '_,:', and must end with an alphanumeric character or '_'";

export function checkConditions(path: string, conditions: readonly Condition[], errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    if (seen.has(condition.type)) errors.duplicate(`${path}[${i}].type`, condition.type);
    seen.add(condition.type);
    checkCondition(`${path}[${i}]`, condition, errors);
  }
}

function checkCondition(path: string, condition: Condition, errors: Errors): void {
  checkLabelKey(`${path}.type`, condition.type ?? "", errors);
  if (!statuses.includes(condition.status))
    errors.notSupported(`${path}.status`, condition.status ?? "", statuses);
  if ((condition.observedGeneration ?? 0) < 0)
    errors.invalid(
      `${path}.observedGeneration`,
      condition.observedGeneration,
      "must be greater than or equal to zero",
    );
  if (!condition.lastTransitionTime) errors.required(`${path}.lastTransitionTime`);
  if (!condition.reason) errors.required(`${path}.reason`);
  else {
    if (!reason.test(condition.reason))
      errors.invalid(
        `${path}.reason`,
        condition.reason,
        patternMismatch(
          reasonRule,
          reasonPattern,
          "my_name",
          "MY_NAME",
          "MyName",
          "ReasonA,ReasonB",
          "ReasonA:ReasonB",
        ),
      );
    if (condition.reason.length > 1024) errors.tooLong(`${path}.reason`, 1024);
  }
  if ((condition.message ?? "").length > 32768) errors.tooLong(`${path}.message`, 32768);
}
