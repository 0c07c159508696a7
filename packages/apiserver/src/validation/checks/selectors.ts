/** Label selectors inside objects. */
import { type JsonValue, validateLabelValue, validateQualifiedName } from "@keelson/core";
import { validateLabels } from "../../registry/metadata.ts";
import type { Errors } from "./errors.ts";

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly Requirement[] | undefined;
}

export function checkLabelKey(path: string, key: string, errors: Errors): void {
  errors.messages(path, key, validateQualifiedName(key));
}

export function checkLabels(
  path: string,
  labels: Readonly<Record<string, string>> | undefined,
  errors: Errors,
) {
  if (labels) errors.add(validateLabels(labels, path));
}

export function checkSelector(path: string, selector: Selector | undefined | null, errors: Errors): void {
  if (!selector) return;
  checkLabels(`${path}.matchLabels`, selector.matchLabels, errors);
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries())
    checkRequirement(`${path}.matchExpressions[${i}]`, requirement, errors);
}

function checkRequirement(path: string, { key, operator, values = [] }: Requirement, errors: Errors): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0)
      errors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      errors.forbidden(
        `${path}.values`,
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      );
  } else errors.invalid(`${path}.operator`, operator, "not a valid selector operator");
  checkLabelKey(`${path}.key`, key, errors);
  for (const [i, value] of values.entries())
    errors.messages(`${path}.values[${i}]`, value, validateLabelValue(value));
}

/** As it is printed in a message. */
export function shownSelector(selector: Selector | undefined | null): JsonValue {
  if (!selector) return null;
  const { matchLabels, matchExpressions } = selector;
  return {
    ...(matchLabels && { matchLabels }),
    ...(matchExpressions && {
      matchExpressions: matchExpressions.map(({ key, operator, values }) => ({
        key,
        operator,
        ...(values?.length && { values: [...values] }),
      })),
    }),
  };
}

/** Whether nothing is asked for: such a selector matches everything. */
export function isEmptySelector(selector: Selector | undefined | null): boolean {
  if (!selector) return true;
  for (const _ in selector.matchLabels) return false;
  return !selector.matchExpressions?.length;
}
