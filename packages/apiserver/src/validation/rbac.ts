/** Rules of roles and of their bindings. */
import { deepEqual, validateDns1123Subdomain } from "@keelson/core";
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
  Subject,
} from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import { pathSegmentName } from "../registry/metadata.ts";
import type { Errors } from "./checks/errors.ts";
import { checkSelector } from "./checks/selectors.ts";
import { checkedAlike, checking, checkingUpdate } from "./checks/strategies.ts";
import { compileSelector } from "./core/templates.ts";

const group = "rbac.authorization.k8s.io";

function checkRule(path: string, rule: PolicyRule, namespaced: boolean, errors: Errors): void {
  if (!rule.verbs?.length) errors.required(`${path}.verbs`, "verbs must contain at least one value");
  const { nonResourceURLs = [], apiGroups = [], resources = [], resourceNames = [] } = rule;
  if (nonResourceURLs.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) errors.invalid(at, nonResourceURLs, "namespaced rules cannot apply to non-resource URLs");
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      errors.invalid(
        at,
        nonResourceURLs,
        "rules cannot apply to both regular resources and non-resource URLs",
      );
    return;
  }
  if (apiGroups.length === 0)
    errors.required(`${path}.apiGroups`, "resource rules must supply at least one api group");
  if (resources.length === 0)
    errors.required(`${path}.resources`, "resource rules must supply at least one resource");
}

function checkRules(rules: readonly PolicyRule[] | undefined | null, namespaced: boolean, errors: Errors) {
  for (const [i, rule] of (rules ?? []).entries()) checkRule(`rules[${i}]`, rule, namespaced, errors);
}

export const roles: Strategy = checkedAlike<Role>((role, errors) => checkRules(role.rules, true, errors));

export const clusterRoles: Strategy = checkedAlike<ClusterRole>((role, errors) => {
  checkRules(role.rules, false, errors);
  if (!role.aggregationRule) return;
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    errors.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  for (const [i, selector] of selectors.entries()) {
    checkSelector(`${path}[${i}]`, selector, errors);
    if (!compileSelector(selector)) errors.invalid(`${path}[${i}]`, null, "invalid label selector.");
  }
});

interface Binding {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

function checkBinding(binding: Binding, namespaced: boolean, errors: Errors): void {
  const { apiGroup = "", kind = "", name = "" } = binding.roleRef ?? {};
  if (apiGroup !== group) errors.notSupported("roleRef.apiGroup", apiGroup, [group]);
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (!kinds.includes(kind)) errors.notSupported("roleRef.kind", kind, kinds);
  if (!name) errors.required("roleRef.name");
  else errors.messages("roleRef.name", name, pathSegmentName(name, false));
  for (const [i, subject] of (binding.subjects ?? []).entries())
    checkSubject(`subjects[${i}]`, subject, namespaced, errors);
}

function checkSubject(path: string, subject: Subject, namespaced: boolean, errors: Errors): void {
  const { kind = "", name = "", apiGroup = "", namespace } = subject;
  if (!name) errors.required(`${path}.name`);
  if (kind === "ServiceAccount") {
    if (name) errors.messages(`${path}.name`, name, validateDns1123Subdomain(name));
    if (apiGroup) errors.notSupported(`${path}.apiGroup`, apiGroup, [""]);
    if (!namespaced && !namespace) errors.required(`${path}.namespace`);
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== group) errors.notSupported(`${path}.apiGroup`, apiGroup, [group]);
  } else errors.notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]);
}

const shownRef = ({ apiGroup, kind, name }: RoleRef) => ({ APIGroup: apiGroup, Kind: kind, Name: name });

function bindings<T extends Binding>(namespaced: boolean): Strategy {
  return {
    validate: checking<T>((binding, errors) => checkBinding(binding, namespaced, errors)),
    validateUpdate: checkingUpdate<T>((binding, old, errors) => {
      checkBinding(binding, namespaced, errors);
      if (!deepEqual(binding.roleRef, old.roleRef))
        errors.invalid("roleRef", shownRef(binding.roleRef), "cannot change roleRef");
    }),
  };
}

export const roleBindings = bindings<RoleBinding>(true);
export const clusterRoleBindings = bindings<ClusterRoleBinding>(false);
