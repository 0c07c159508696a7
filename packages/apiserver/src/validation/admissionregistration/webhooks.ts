/** Rules of webhook configurations. */
import { deepEqual, validateDns1035Label, validateDns1123Subdomain } from "@keelson/core";
import type { MutatingWebhook, ValidatingWebhook } from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { checkSelector } from "../checks/selectors.ts";
import { anyChange, checking, checkingUpdate } from "../checks/strategies.ts";
import { checkClientConfig } from "./client-config.ts";
import { checkMatchConditions } from "./match-conditions.ts";
import { checkRule, failurePolicies, matchPolicies, reinvocationPolicies } from "./rules.ts";

type Webhook = ValidatingWebhook & Pick<MutatingWebhook, "reinvocationPolicy">;
interface Configuration {
  readonly webhooks?: readonly Webhook[];
}

/** What an old configuration got away with stays allowed. */
interface Rules {
  readonly sideEffects: boolean;
  readonly anyReviewVersion: boolean;
  readonly repeatedNames: boolean;
  readonly sameConditions: boolean;
}
const strict: Rules = {
  sideEffects: false,
  anyReviewVersion: false,
  repeatedNames: false,
  sameConditions: false,
};

const allSideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];
const noSideEffects = ["None", "NoneOnDryRun"];
const reviewVersions = ["v1", "v1beta1"];

function checkWebhook(path: string, hook: Webhook, mutating: boolean, rules: Rules, errors: Errors): void {
  checkQualified(`${path}.name`, hook.name ?? "", errors);
  for (const [i, rule] of (hook.rules ?? []).entries()) checkRule(`${path}.rules[${i}]`, rule, errors);
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, reinvocationPolicy } = hook;
  if (failurePolicy !== undefined && !failurePolicies.includes(failurePolicy))
    errors.notSupported(`${path}.failurePolicy`, failurePolicy, failurePolicies);
  if (matchPolicy !== undefined && !matchPolicies.includes(matchPolicy))
    errors.notSupported(`${path}.matchPolicy`, matchPolicy, matchPolicies);
  const allowed = rules.sideEffects ? allSideEffects : noSideEffects;
  if (!sideEffects && sideEffects !== "")
    errors.required(`${path}.sideEffects`, `must specify one of ${allowed.join(", ")}`);
  else if (!allowed.includes(sideEffects)) errors.notSupported(`${path}.sideEffects`, sideEffects, allowed);
  if (timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1))
    errors.invalid(
      `${path}.timeoutSeconds`,
      timeoutSeconds,
      "the timeout value must be between 1 and 30 seconds",
    );
  checkSelector(`${path}.namespaceSelector`, hook.namespaceSelector, errors);
  checkSelector(`${path}.objectSelector`, hook.objectSelector, errors);
  if (mutating && reinvocationPolicy !== undefined && !reinvocationPolicies.includes(reinvocationPolicy))
    errors.notSupported(`${path}.reinvocationPolicy`, reinvocationPolicy, reinvocationPolicies);
  checkClientConfig(`${path}.clientConfig`, hook.clientConfig ?? {}, errors);
  if (!rules.sameConditions)
    checkMatchConditions(`${path}.matchConditions`, hook.matchConditions ?? [], false, errors);
}

function checkQualified(path: string, name: string, errors: Errors): void {
  if (name === "") {
    errors.required(path);
    return;
  }
  const problems = validateDns1123Subdomain(name);
  if (problems.length > 0) errors.invalid(path, name, problems.join(","));
  else if (name.split(".").length < 3)
    errors.invalid(path, name, "should be a domain with at least three segments separated by dots");
}

function checkVersions(path: string, versions: readonly string[], rules: Rules, errors: Errors): void {
  const accepted = reviewVersions.join(", ");
  if (versions.length === 0) {
    errors.required(path, `must specify one of ${accepted}`);
    return;
  }
  for (const [i, version] of versions.entries())
    if (versions.indexOf(version) < i) errors.invalid(`${path}[${i}]`, version, "duplicate version");
    else errors.messages(`${path}[${i}]`, version, validateDns1035Label(version));
  if (!rules.anyReviewVersion && !isReviewed(versions))
    errors.invalid(path, versions, `must include at least one of ${accepted}`);
}

const isReviewed = (versions: readonly string[]): boolean =>
  versions.some((version) => reviewVersions.includes(version));

function check(hooks: readonly Webhook[], mutating: boolean, rules: Rules, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, hook] of hooks.entries()) {
    const path = `webhooks[${i}]`;
    checkWebhook(path, hook, mutating, rules, errors);
    checkVersions(`${path}.admissionReviewVersions`, hook.admissionReviewVersions ?? [], rules, errors);
    if (rules.repeatedNames || !hook.name) continue;
    if (names.has(hook.name)) errors.duplicate(`${path}.name`, hook.name);
    names.add(hook.name);
  }
}

function rulesFor(now: readonly Webhook[], old: readonly Webhook[]): Rules {
  const conditions = (hooks: readonly Webhook[]) => hooks.map((hook) => hook.matchConditions ?? []);
  return {
    sideEffects: old.some(({ sideEffects = "" }) => !noSideEffects.includes(sideEffects)),
    anyReviewVersion: old.some(
      ({ admissionReviewVersions: versions = [] }) => versions.length > 0 && !isReviewed(versions),
    ),
    repeatedNames: new Set(old.map(({ name }) => name)).size < old.length,
    sameConditions: deepEqual(conditions(now), conditions(old)),
  };
}

function configurations(mutating: boolean): Strategy {
  return {
    generation: anyChange,
    prepareForCreate(draft: ApiObject) {
      draft.metadata.generation = 1;
    },
    validate: checking<Configuration>(({ webhooks = [] }, errors) =>
      check(webhooks, mutating, strict, errors),
    ),
    validateUpdate: checkingUpdate<Configuration>(({ webhooks = [] }, old, errors) =>
      check(webhooks, mutating, rulesFor(webhooks, old.webhooks ?? []), errors),
    ),
  };
}

export const mutatingWebhookConfigurations = configurations(true);
export const validatingWebhookConfigurations = configurations(false);
