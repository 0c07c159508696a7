/** Where a pod may run: affinity, tolerations, topology, node selectors. */
import { deepEqual, validateDns1123Label, validateDns1123Subdomain, validateLabelValue } from "@keelson/core";
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSchedulingGate,
  Toleration,
  TopologySpreadConstraint,
  WeightedPodAffinityTerm,
} from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { positive } from "../checks/formats.ts";
import { checkLabelKey, checkSelector, type Selector } from "../checks/selectors.ts";

const notAnOperator = "not a valid selector operator";

function checkNodeRequirement(
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  lenient: boolean,
  errors: Errors,
): void {
  switch (operator as string) {
    case "In":
    case "NotIn":
      if (values.length === 0)
        errors.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0)
        errors.forbidden(
          `${path}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        );
      break;
    case "Gt":
    case "Lt":
      if (values.length !== 1)
        errors.required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      errors.invalid(`${path}.operator`, operator, notAnOperator);
  }
  checkLabelKey(`${path}.key`, key, errors);
  if (lenient) return;
  for (const [i, value] of values.entries())
    errors.messages(`${path}.values[${i}]`, value, validateLabelValue(value));
}

function checkFieldRequirement(
  path: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  errors: Errors,
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length !== 1)
      errors.required(
        `${path}.values`,
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      );
  } else errors.invalid(`${path}.operator`, operator, notAnOperator);
  if (key !== "metadata.name") errors.invalid(`${path}.key`, key, "not a valid field selector key");
  else
    for (const [i, value] of values.entries())
      errors.messages(`${path}.values[${i}]`, value, validateDns1123Subdomain(value));
}

export function checkNodeSelectorTerm(
  path: string,
  term: NodeSelectorTerm,
  lenient: boolean,
  errors: Errors,
): void {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries())
    checkNodeRequirement(`${path}.matchExpressions[${i}]`, requirement, lenient, errors);
  for (const [i, requirement] of (term.matchFields ?? []).entries())
    checkFieldRequirement(`${path}.matchFields[${i}]`, requirement, errors);
}

export function checkNodeSelector(
  path: string,
  selector: NodeSelector,
  lenient: boolean,
  errors: Errors,
): void {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0)
    errors.required(`${path}.nodeSelectorTerms`, "must have at least one node selector term");
  for (const [i, term] of terms.entries())
    checkNodeSelectorTerm(`${path}.nodeSelectorTerms[${i}]`, term, lenient, errors);
}

export function hasInvalidNodeLabelValue(terms: readonly NodeSelectorTerm[]): boolean {
  return terms.some((term) =>
    (term.matchExpressions ?? []).some(({ values = [] }) =>
      values.some((value) => validateLabelValue(value).length > 0),
    ),
  );
}

function checkWeight(path: string, weight: number, errors: Errors): void {
  if (weight <= 0 || weight > 100) errors.invalid(`${path}.weight`, weight, "must be in the range 1-100");
}

export function checkAffinity(
  path: string,
  affinity: Affinity | undefined,
  lenientNodeLabels: boolean,
  errors: Errors,
): void {
  if (!affinity) return;
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  if (nodeAffinity) {
    const at = `${path}.nodeAffinity`;
    const hard = nodeAffinity[required];
    if (hard) checkNodeSelector(`${at}.${required}`, hard, lenientNodeLabels, errors);
    for (const [i, term] of (nodeAffinity[preferred] ?? []).entries()) {
      checkWeight(`${at}.${preferred}[${i}]`, term.weight, errors);
      checkNodeSelectorTerm(`${at}.${preferred}[${i}].preference`, term.preference, true, errors);
    }
  }
  for (const [field, terms] of [
    ["podAffinity", podAffinity],
    ["podAntiAffinity", podAntiAffinity],
  ] as const) {
    if (!terms) continue;
    for (const [i, term] of (terms[required] ?? []).entries())
      checkPodTerm(`${path}.${field}.${required}[${i}]`, term, errors);
    for (const [i, weighted] of ((terms[preferred] ?? []) as WeightedPodAffinityTerm[]).entries()) {
      const at = `${path}.${field}.${preferred}[${i}]`;
      checkWeight(at, weighted.weight, errors);
      checkPodTerm(`${at}.podAffinityTerm`, weighted.podAffinityTerm, errors);
    }
  }
}

function checkPodTerm(path: string, term: PodAffinityTerm, errors: Errors): void {
  checkSelector(`${path}.labelSelector`, term.labelSelector as Selector, errors);
  checkSelector(`${path}.namespaceSelector`, term.namespaceSelector as Selector, errors);
  for (const name of term.namespaces ?? [])
    errors.messages(`${path}.namespace`, name, validateDns1123Label(name));
  checkMatchLabelKeys(
    path,
    term.matchLabelKeys,
    term.mismatchLabelKeys,
    term.labelSelector as Selector,
    errors,
  );
  if (!term.topologyKey) errors.required(`${path}.topologyKey`, "can not be empty");
  checkLabelKey(`${path}.topologyKey`, term.topologyKey, errors);
}

function checkMatchLabelKeys(
  path: string,
  match: readonly string[] = [],
  mismatch: readonly string[] = [],
  selector: Selector | undefined,
  errors: Errors,
): void {
  for (const [field, keys] of [
    ["matchLabelKeys", match],
    ["mismatchLabelKeys", mismatch],
  ] as const) {
    if (keys.length === 0) continue;
    if (!selector)
      errors.forbidden(`${path}.${field}`, "must not be specified when labelSelector is not set");
    else for (const [i, key] of keys.entries()) checkLabelKey(`${path}.${field}[${i}]`, key, errors);
  }
  if (selector) {
    const seen = new Set(Object.keys(selector.matchLabels ?? {}));
    for (const { key } of selector.matchExpressions ?? []) {
      const i = match.lastIndexOf(key);
      if (i >= 0 && seen.has(key))
        errors.invalid(`${path}[${i}]`, key, "exists in both matchLabelKeys and labelSelector");
      seen.add(key);
    }
  }
  for (const [i, key] of match.entries())
    if (mismatch.includes(key))
      errors.invalid(
        `${path}.matchLabelKeys[${i}]`,
        key,
        "exists in both matchLabelKeys and mismatchLabelKeys",
      );
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkTaintEffect(path: string, effect: string, errors: Errors): void {
  if (!effects.includes(effect)) errors.notSupported(path, effect, effects);
}

export function checkTolerations(path: string, tolerations: readonly Toleration[], errors: Errors): void {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `${path}[${i}]`;
    const { key = "", value = "", effect = "", tolerationSeconds } = toleration;
    const operator: string = toleration.operator ?? "";
    if (key) checkLabelKey(`${at}.key`, key, errors);
    if (!key && operator !== "Exists")
      errors.invalid(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (tolerationSeconds !== undefined && effect !== "NoExecute")
      errors.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    switch (operator) {
      case "":
      case "Equal": {
        const problems = validateLabelValue(value);
        if (problems.length > 0) errors.invalid(`${at}.operator`, value, problems.join(";"));
        break;
      }
      case "Exists":
        if (value) errors.invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'");
        break;
      case "Lt":
      case "Gt":
        errors.notSupported(`${at}.operator`, operator, ["Equal", "Exists", "Lt", "Gt"]);
        break;
      default:
        errors.notSupported(`${at}.operator`, operator, ["Equal", "Exists"]);
    }
    if (effect) checkTaintEffect(`${at}.effect`, effect, errors);
  }
}

/** Tolerations may be added, and the seconds of those that are there changed. */
export function checkAddedTolerations(
  path: string,
  tolerations: readonly Toleration[],
  old: readonly Toleration[],
  errors: Errors,
): void {
  const without = ({ tolerationSeconds: _, ...rest }: Toleration) => rest;
  for (const known of old)
    if (!tolerations.some((toleration) => deepEqual(without(toleration), without(known)))) {
      errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
      return;
    }
  checkTolerations(path, tolerations, errors);
}

export function checkRemovedGates(
  path: string,
  gates: readonly PodSchedulingGate[],
  old: readonly PodSchedulingGate[],
  errors: Errors,
): void {
  const before = new Set(old.map(({ name }) => name));
  for (const [i, { name }] of gates.entries())
    if (!before.has(name))
      errors.forbidden(
        `${path}[${i}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
}

const unsatisfiable = ["DoNotSchedule", "ScheduleAnyway"];
const inclusion = ["Honor", "Ignore"];

export function checkTopologySpread(
  path: string,
  constraints: readonly TopologySpreadConstraint[],
  lenientSelector: boolean,
  errors: Errors,
): void {
  for (const [i, constraint] of constraints.entries()) {
    const at = `${path}[${i}]`;
    const { maxSkew, topologyKey, whenUnsatisfiable: action, minDomains } = constraint;
    if (maxSkew <= 0) errors.invalid(`${at}.maxSkew`, maxSkew, positive);
    if (!topologyKey) errors.required(`${at}.topologyKey`, "can not be empty");
    if (!unsatisfiable.includes(action))
      errors.notSupported(`${at}.whenUnsatisfiable`, action, unsatisfiable);
    const repeated = constraints
      .slice(i + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === action);
    if (repeated) errors.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${action}}`);
    if (minDomains !== undefined) {
      if (minDomains <= 0) errors.invalid(`${at}.minDomains`, minDomains, positive);
      if (action !== "DoNotSchedule")
        errors.invalid(
          `${at}.minDomains`,
          minDomains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`,
        );
    }
    for (const field of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
      const policy = constraint[field];
      if (policy !== undefined && !inclusion.includes(policy))
        errors.notSupported(`${at}.${field}`, policy, inclusion);
    }
    const selector = constraint.labelSelector as Selector | undefined;
    checkMatchLabelKeys(at, constraint.matchLabelKeys, [], selector, errors);
    if (!lenientSelector) checkSelector(`${at}.labelSelector`, selector, errors);
  }
}
