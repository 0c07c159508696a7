/** Rules of runtime classes. */
import { canonicalJson, type JsonValue, validateDns1123Label } from "@keelson/core";
import type { RuntimeClass } from "@keelson/core/kinds";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { checkLabels } from "./checks/selectors.ts";
import { checkImmutable, checking, checkingUpdate } from "./checks/strategies.ts";
import { checkRequirements } from "./core/resources.ts";
import { checkTolerations } from "./core/scheduling.ts";
import { deprecatedNodeLabel } from "./core/warnings.ts";

function check({ handler = "", overhead, scheduling }: RuntimeClass, errors: Errors): void {
  if (!handler) errors.required("handler");
  else errors.messages("handler", handler, validateDns1123Label(handler));
  if (overhead?.podFixed) checkRequirements("overhead", { limits: overhead.podFixed }, new Set(), errors);
  if (!scheduling) return;
  checkLabels("scheduling.nodeSelector", scheduling.nodeSelector, errors);
  const path = "scheduling.tolerations";
  const tolerations = scheduling.tolerations ?? [];
  checkTolerations(path, tolerations, errors);
  const seen = new Set<string>();
  for (const [i, { tolerationSeconds: seconds, ...toleration }] of tolerations.entries()) {
    const key = canonicalJson(toleration as JsonValue);
    if (seen.has(key)) {
      const { key: Key = "", operator: Operator = "", value: Value = "", effect: Effect = "" } = toleration;
      errors.duplicate(`${path}[${i}]`, { Key, Operator, Value, Effect, TolerationSeconds: seconds ?? null });
    }
    seen.add(key);
  }
}

function warnings(object: ApiObject): string[] {
  const selector = (object as unknown as RuntimeClass).scheduling?.nodeSelector ?? {};
  return Object.keys(selector).flatMap((key) => {
    const message = deprecatedNodeLabel(key);
    return message ? [`scheduling.nodeSelector: ${message}`] : [];
  });
}

export const runtimeClasses: Strategy = {
  validate: checking(check),
  validateUpdate: checkingUpdate<RuntimeClass>((now, old, errors) => {
    check(now, errors);
    checkImmutable("handler", now.handler, old.handler, errors);
  }),
  warningsOnCreate: warnings,
  warningsOnUpdate: warnings,
};
