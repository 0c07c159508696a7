/** Rules of admission policies: those that judge and those that change. */

import { applyConfigurationType, jsonPatchListType, types } from "@keelson/cel";
import {
  deepEqual,
  validateDns1035Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from "@keelson/core";
import type {
  AuditAnnotation,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicySpec,
  Mutation,
  ParamKind,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicySpec,
  Validation,
} from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import { checkConditions } from "../checks/conditions.ts";
import type { Errors } from "../checks/errors.ts";
import { checking, checkingUpdate } from "../checks/strategies.ts";
import { Expressions } from "./expressions.ts";
import { checkMatchConditions } from "./match-conditions.ts";
import {
  checkMatchResources,
  checkMutatingOperations,
  failurePolicies,
  reinvocationPolicies,
} from "./rules.ts";

type EitherSpec = ValidatingAdmissionPolicySpec | MutatingAdmissionPolicySpec;

/** What both kinds of policy have, up to their conditions. */
function checkCommon(spec: EitherSpec, old: EitherSpec | undefined, mutating: boolean, errors: Errors): void {
  const { failurePolicy, paramKind, matchConstraints, matchConditions = [] } = spec;
  if (failurePolicy === undefined) errors.required("spec.failurePolicy");
  else if (!failurePolicies.includes(failurePolicy))
    errors.notSupported("spec.failurePolicy", failurePolicy, failurePolicies);
  if (paramKind) checkParamKind("spec.paramKind", paramKind, errors);
  const path = "spec.matchConstraints";
  if (!matchConstraints) errors.required(path);
  else {
    checkMatchResources(path, matchConstraints, errors);
    if (!matchConstraints.resourceRules?.length) errors.required(`${path}.resourceRules`);
    if (mutating) checkMutatingOperations(path, matchConstraints, errors);
  }
  const unchanged =
    old && deepEqual(paramKind, old.paramKind) && deepEqual(matchConditions, old.matchConditions ?? []);
  if (!unchanged) checkMatchConditions("spec.matchConditions", matchConditions, !!paramKind, errors);
}

function checkParamKind(path: string, { apiVersion = "", kind = "" }: ParamKind, errors: Errors): void {
  const at = `${path}.apiVersion`;
  const parts = apiVersion === "/" ? ["", ""] : apiVersion.split("/");
  if (apiVersion === "") errors.required(at);
  else if (parts.length > 2) errors.invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  else {
    const version = parts.at(-1) ?? "";
    const group = parts.length === 2 ? (parts[0] ?? "") : "";
    const wrongGroup = group === "" ? [] : validateDns1123Subdomain(group);
    if (wrongGroup.length > 0) errors.invalid(at, group, wrongGroup.join(","));
    const wrong = validateDns1035Label(version);
    if (version === "") errors.invalid(at, apiVersion, "version must be specified");
    else if (wrong.length > 0) errors.invalid(at, version, wrong.join(","));
  }
  if (kind === "") {
    errors.required(`${path}.kind`);
    return;
  }
  const wrong = validateDns1035Label(kind.toLowerCase());
  if (wrong.length > 0)
    errors.invalid(
      `${path}.kind`,
      kind,
      `may have mixed case, but should otherwise match: ${wrong.join(",")}`,
    );
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const mostAnnotations = 20;
const longestAnnotation = 5 * 1024;

function checkValidation(path: string, rule: Validation, expressions: Expressions, errors: Errors): void {
  const { expression = "", message = "", messageExpression = "", reason } = rule;
  if (expression.trim() === "") errors.required(`${path}.expression`, "expression is not specified");
  else expressions.check(`${path}.expression`, expression, [types.bool], errors);
  const at = `${path}.messageExpression`;
  if (messageExpression !== "" && messageExpression.trim() === "")
    errors.invalid(at, messageExpression, "must be non-empty if specified");
  else if (messageExpression !== "") expressions.check(at, messageExpression, [types.string], errors, false);
  if (message !== "" && message.trim() === "")
    errors.invalid(`${path}.message`, message, "must be non-empty if specified");
  else if (/[\n\r]/.test(message.trim()))
    errors.invalid(`${path}.message`, message, "must not contain line breaks");
  if (reason !== undefined && !reasons.includes(reason))
    errors.notSupported(`${path}.reason`, reason, reasons);
}

function checkAnnotation(
  path: string,
  { key, valueExpression = "" }: AuditAnnotation,
  policy: string,
  expressions: Expressions,
  errors: Errors,
): void {
  if (policy === "") errors.invalid(`${path}.key`, key, "requires metadata.name be non-empty");
  else errors.messages(`${path}.key`, `${policy}/${key}`, validateQualifiedName(`${policy}/${key}`));
  const at = `${path}.valueExpression`;
  const trimmed = valueExpression.trim();
  if (trimmed === "") errors.required(at, "valueExpression is not specified");
  else if (trimmed.length > longestAnnotation)
    errors.required(at, `must not exceed ${longestAnnotation} bytes in length`);
  else expressions.check(at, trimmed, [types.string, types.null], errors, true, valueExpression);
}

function checkValidating(
  { metadata, spec = {} }: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
  errors: Errors,
): void {
  checkCommon(spec, old?.spec, false, errors);
  const { variables = [], validations = [], auditAnnotations = [] } = spec;
  const expressions = new Expressions(variables, { hasParams: !!spec.paramKind });
  if (variables.length > 0) expressions.checkVariables("spec.variables", errors);
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const why = "validations or auditAnnotations must contain at least one item";
    errors.required("spec.validations", why);
    errors.required("spec.auditAnnotations", why);
    return;
  }
  for (const [i, rule] of validations.entries())
    checkValidation(`spec.validations[${i}]`, rule, expressions, errors);
  if (auditAnnotations.length > mostAnnotations)
    errors.invalid(
      "spec.auditAnnotations",
      auditAnnotations,
      `must not have more than ${mostAnnotations} auditAnnotations`,
    );
  const keys = new Set<string>();
  for (const [i, annotation] of auditAnnotations.entries()) {
    const path = `spec.auditAnnotations[${i}]`;
    checkAnnotation(path, annotation, metadata?.name ?? "", expressions, errors);
    if (keys.has(annotation.key)) errors.duplicate(`${path}.key`, annotation.key);
    keys.add(annotation.key);
  }
}

export const validatingAdmissionPolicies: Strategy = {
  validate: checking<ValidatingAdmissionPolicy>((policy, errors) =>
    checkValidating(policy, undefined, errors),
  ),
  validateUpdate: checkingUpdate<ValidatingAdmissionPolicy>(checkValidating),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<ValidatingAdmissionPolicy>(({ status }, _old, errors) => {
        const path = "status.typeChecking.expressionWarnings";
        for (const [i, warning] of (status?.typeChecking?.expressionWarnings ?? []).entries()) {
          if (!warning.warning) errors.required(`${path}[${i}].warning`);
          if (!warning.fieldRef?.trim()) errors.required(`${path}[${i}].fieldRef`);
        }
        checkConditions("status.conditions", status?.conditions ?? [], errors);
      }),
    },
  },
};

const patchTypes = ["ApplyConfiguration", "JSONPatch"];

function checkMutation(path: string, mutation: Mutation, expressions: Expressions, errors: Errors): void {
  const { patchType, jsonPatch, applyConfiguration } = mutation;
  if (!patchType) {
    errors.required(`${path}.patchType`);
    return;
  }
  if (!patchTypes.includes(patchType)) {
    errors.notSupported(`${path}.patchType`, patchType, patchTypes);
    return;
  }
  const json = patchType === "JSONPatch";
  const [field, other] = json ? ["jsonPatch", "applyConfiguration"] : ["applyConfiguration", "jsonPatch"];
  const chosen = json ? jsonPatch : applyConfiguration;
  if (!chosen) errors.required(`${path}.${field}`, `must be specified when patchType is ${patchType}`);
  else {
    const expression = (chosen.expression ?? "").trim();
    const at = `${path}.${field}.expression`;
    if (expression === "") errors.required(at);
    else expressions.check(at, expression, [json ? jsonPatchListType : applyConfigurationType], errors);
  }
  if (json ? applyConfiguration : jsonPatch)
    errors.invalid(`${path}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`);
}

function checkMutating(
  { spec = {} }: MutatingAdmissionPolicy,
  old: MutatingAdmissionPolicy | undefined,
  errors: Errors,
): void {
  checkCommon(spec, old?.spec, true, errors);
  const { variables = [], mutations = [], reinvocationPolicy } = spec;
  const expressions = new Expressions(variables, {
    hasParams: !!spec.paramKind,
    patches: true,
    composed: true,
  });
  if (variables.length > 0) expressions.checkVariables("spec.variables", errors);
  if (mutations.length === 0) errors.required("spec.mutations", "mutations must contain at least one item");
  for (const [i, mutation] of mutations.entries())
    checkMutation(`spec.mutations[${i}]`, mutation, expressions, errors);
  if (!reinvocationPolicy) errors.required("spec.reinvocationPolicy");
  else if (!reinvocationPolicies.includes(reinvocationPolicy))
    errors.notSupported("spec.reinvocationPolicy", reinvocationPolicy, reinvocationPolicies);
}

export const mutatingAdmissionPolicies: Strategy = {
  validate: checking<MutatingAdmissionPolicy>((policy, errors) => checkMutating(policy, undefined, errors)),
  validateUpdate: checkingUpdate<MutatingAdmissionPolicy>(checkMutating),
};
