/** Rules of what puts admission policies into force. */
import { validateDns1123Subdomain } from "@keelson/core";
import type {
  MutatingAdmissionPolicyBinding,
  ParamRef,
  ValidatingAdmissionPolicyBinding,
} from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import { pathSegmentName } from "../../registry/metadata.ts";
import type { Errors } from "../checks/errors.ts";
import { checkSelector } from "../checks/selectors.ts";
import { checkedAlike } from "../checks/strategies.ts";
import { checkMatchResources, checkMutatingOperations } from "./rules.ts";

const actions = ["Audit", "Deny", "Warn"];
const notFoundActions = ["Deny", "Allow"];

function checkPolicyName(name: string | undefined, errors: Errors): void {
  if (!name) errors.required("spec.policyName");
  else errors.messages("spec.policyName", name, validateDns1123Subdomain(name));
}

function checkParamRef(path: string, ref: ParamRef | undefined, errors: Errors): void {
  if (!ref) return;
  const { name, selector, parameterNotFoundAction: action } = ref;
  const both = "name and selector are mutually exclusive";
  if (name) {
    errors.messages(`${path}.name`, name, pathSegmentName(name, false));
    if (selector) errors.forbidden(`${path}.name`, both);
  }
  if (selector) {
    checkSelector(`${path}.selector`, selector, errors);
    if (name) errors.forbidden(`${path}.selector`, both);
  }
  if (!name && !selector) errors.required(path, "one of name or selector must be specified");
  if (!action) errors.required(`${path}.parameterNotFoundAction`);
  else if (!notFoundActions.includes(action))
    errors.notSupported(`${path}.parameterNotFoundAction`, action, notFoundActions);
}

function checkActions(path: string, given: readonly string[], errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, action] of given.entries()) {
    if (!actions.includes(action)) errors.notSupported(`${path}[${i}]`, action, actions);
    if (seen.has(action)) errors.duplicate(`${path}[${i}]`, action);
    seen.add(action);
  }
  if (seen.has("Deny") && seen.has("Warn"))
    errors.invalid(
      path,
      given,
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
    );
  if (seen.size === 0) errors.required(path, "at least one validation action is required");
}

export const validatingAdmissionPolicyBindings: Strategy = checkedAlike<ValidatingAdmissionPolicyBinding>(
  ({ spec = {} }, errors) => {
    checkPolicyName(spec.policyName, errors);
    checkParamRef("spec.paramRef", spec.paramRef, errors);
    if (spec.matchResources) checkMatchResources("spec.matchResources", spec.matchResources, errors);
    checkActions("spec.validationActions", spec.validationActions ?? [], errors);
  },
);

export const mutatingAdmissionPolicyBindings: Strategy = checkedAlike<MutatingAdmissionPolicyBinding>(
  ({ spec = {} }, errors) => {
    checkPolicyName(spec.policyName, errors);
    checkParamRef("spec.paramRef", spec.paramRef, errors);
    if (!spec.matchResources) return;
    checkMatchResources("spec.matchResources", spec.matchResources, errors);
    checkMutatingOperations("spec.matchResources", spec.matchResources, errors);
  },
);
