/** Which requests a webhook or a policy is asked about. */
import type { MatchResources, NamedRuleWithOperations, RuleWithOperations } from "@keelson/core/kinds";
import { pathSegmentName } from "../../registry/metadata.ts";
import type { Errors } from "../checks/errors.ts";
import { checkSelector } from "../checks/selectors.ts";

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];
export const matchPolicies = ["Equivalent", "Exact"];
export const failurePolicies = ["Fail", "Ignore"];
export const reinvocationPolicies = ["IfNeeded", "Never"];

/** A list that must not be empty and in which `*` stands alone. */
function checkWildcard(path: string, list: readonly string[], what: string, errors: Errors): void {
  if (list.length === 0) errors.required(path);
  if (list.length > 1 && list.includes("*"))
    errors.invalid(path, list, `if '*' is present, must not specify other ${what}`);
}

export function checkRule(path: string, rule: RuleWithOperations, errors: Errors): void {
  const { operations: given = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  checkWildcard(`${path}.operations`, given, "operations", errors);
  for (const [i, operation] of given.entries())
    if (!operations.includes(operation))
      errors.notSupported(`${path}.operations[${i}]`, operation, operations);
  checkWildcard(`${path}.apiGroups`, apiGroups, "API groups", errors);
  checkWildcard(`${path}.apiVersions`, apiVersions, "API versions", errors);
  for (const [i, version] of apiVersions.entries())
    if (version === "") errors.required(`${path}.apiVersions[${i}]`);
  checkResources(`${path}.resources`, resources, errors);
  if (scope !== undefined && !scopes.includes(scope)) errors.notSupported(`${path}.scope`, scope, scopes);
}

function checkResources(path: string, resources: readonly string[], errors: Errors): void {
  if (resources.length === 0) errors.required(path);
  const allPartsOf = new Set<string>();
  const partOfAll = new Set<string>();
  let bare = false;
  for (const [i, text] of resources.entries()) {
    if (text === "") {
      errors.required(`${path}[${i}]`);
      continue;
    }
    const slash = text.indexOf("/");
    if (slash < 0) {
      bare = text !== "*";
      continue;
    }
    const resource = text.slice(0, slash);
    const part = text.slice(slash + 1);
    if (allPartsOf.has(resource))
      errors.invalid(`${path}[${i}]`, text, `if '${resource}/*' is present, must not specify ${text}`);
    if (partOfAll.has(part))
      errors.invalid(`${path}[${i}]`, text, `if '*/${part}' is present, must not specify ${text}`);
    if (part === "*") allPartsOf.add(resource);
    if (resource === "*") partOfAll.add(part);
  }
  if (resources.length > 1 && resources.includes("*/*"))
    errors.invalid(path, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes("*") && bare)
    errors.invalid(
      path,
      resources,
      "if '*' is present, must not specify other resources without subresources",
    );
}

function checkNamedRule(path: string, rule: NamedRuleWithOperations, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, name] of (rule.resourceNames ?? []).entries()) {
    errors.messages(`${path}.resourceNames[${i}]`, name, pathSegmentName(name, false));
    if (names.has(name)) errors.duplicate(`${path}.resourceNames[${i}]`, name);
    names.add(name);
  }
  checkRule(path, rule, errors);
}

export function checkMatchResources(path: string, match: MatchResources, errors: Errors): void {
  const { matchPolicy, namespaceSelector, objectSelector } = match;
  if (matchPolicy === undefined) errors.required(`${path}.matchPolicy`);
  else if (!matchPolicies.includes(matchPolicy))
    errors.notSupported(`${path}.matchPolicy`, matchPolicy, matchPolicies);
  if (!namespaceSelector) errors.required(`${path}.namespaceSelector`);
  else checkSelector(`${path}.namespaceSelector`, namespaceSelector, errors);
  if (!objectSelector) errors.required(`${path}.objectSelector`);
  else checkSelector(`${path}.objectSelector`, objectSelector, errors);
  for (const field of ["resourceRules", "excludeResourceRules"] as const)
    for (const [i, rule] of (match[field] ?? []).entries())
      checkNamedRule(`${path}.${field}[${i}]`, rule, errors);
}

/** There is nothing to change in what is being deleted. */
export function checkMutatingOperations(path: string, match: MatchResources, errors: Errors): void {
  for (const { operations: given = [] } of match.resourceRules ?? [])
    for (const operation of given)
      if (!mutatingOperations.includes(operation))
        errors.notSupported(`${path}.resourceRules.operations`, operation, mutatingOperations);
}
