/** Rules of request priorities: flow schemas and the levels they lead to. */
import { deepEqual, validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type {
  FlowSchema,
  flowcontrolV1,
  LimitResponse,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  QueuingConfiguration,
  ResourcePolicyRule,
} from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { checking, checkingUpdate } from "./checks/strategies.ts";

const verbs = `create delete deletecollection get list patch proxy update watch`.split(" ");
const methods = ["ByNamespace", "ByUser"];
const subjectKinds = ["Group", "ServiceAccount", "User"];
const lastPrecedence = 10000;

function checkSchema({ metadata, spec, status }: FlowSchema, errors: Errors): void {
  const { matchingPrecedence: precedence = 0, distinguisherMethod, rules = [] } = spec ?? {};
  const at = "spec.matchingPrecedence";
  if (precedence <= 0) errors.invalid(at, precedence, "must be a positive value");
  if (precedence > lastPrecedence)
    errors.invalid(at, precedence, `must not be greater than ${lastPrecedence}`);
  if (precedence === 1 && metadata?.name !== "exempt")
    errors.invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod && !methods.includes(distinguisherMethod.type))
    errors.notSupported("spec.distinguisherMethod.type", { Type: distinguisherMethod.type }, methods);
  const level = spec?.priorityLevelConfiguration?.name;
  const path = "spec.priorityLevelConfiguration.name";
  if (level) errors.messages(path, level, validateDns1123Subdomain(level));
  else errors.required(path, "must reference a priority level");
  for (const [i, rule] of rules.entries()) checkRules(`spec.rules[${i}]`, rule, errors);
  checkConditionTypes(status?.conditions ?? [], errors);
}

function checkRules(path: string, rule: PolicyRulesWithSubjects, errors: Errors): void {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  // Lists without items are read as null.
  const subjects = rule.subjects ?? [];
  for (const [i, subject] of subjects.entries()) checkSubject(`${path}.subjects[${i}]`, subject, errors);
  if (subjects.length === 0) errors.required(`${path}.subjects`, "subjects must contain at least one value");
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    errors.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
  for (const [i, one] of resourceRules.entries())
    checkResourceRule(`${path}.resourceRules[${i}]`, one, errors);
  for (const [i, one] of nonResourceRules.entries())
    checkPathRule(`${path}.nonResourceRules[${i}]`, one, errors);
}

function checkSubject(path: string, subject: flowcontrolV1.Subject, errors: Errors): void {
  const { kind } = subject;
  if (!subjectKinds.includes(kind)) {
    errors.notSupported(`${path}.kind`, kind ?? "", subjectKinds);
    return;
  }
  const own = (kind.slice(0, 1).toLowerCase() + kind.slice(1)) as "user" | "group" | "serviceAccount";
  const chosen = subject[own];
  const at = `${path}.${own}`;
  if (!chosen) errors.required(at, `${own} is required when subject kind is '${kind}'`);
  else {
    if (!chosen.name) errors.required(`${at}.name`);
    if (own === "serviceAccount") {
      const { name = "", namespace } = subject.serviceAccount ?? {};
      if (name && name !== "*") errors.messages(`${at}.name`, name, validateDns1123Subdomain(name));
      if (namespace) errors.messages(`${at}.namespace`, namespace, validateDns1123Label(namespace));
      else errors.required(`${at}.namespace`, "must specify namespace for service account");
    }
  }
  for (const other of ["serviceAccount", "user", "group"] as const)
    if (other !== own && subject[other]) {
      const theirs = other.slice(0, 1).toUpperCase() + other.slice(1);
      errors.forbidden(`${path}.${other}`, `${other} is forbidden when subject kind is not '${theirs}'`);
    }
}

function checkVerbs(path: string, given: readonly string[], errors: Errors): void {
  if (given.length === 0) errors.required(path, "verbs must contain at least one value");
  else if (given.includes("*")) {
    if (given.length > 1) errors.invalid(path, given, "if '*' is present, must not specify other verbs");
  } else if (!given.every((verb) => verbs.includes(verb))) errors.notSupported(path, given, verbs);
}

function checkPathRule(path: string, rule: NonResourcePolicyRule, errors: Errors): void {
  checkVerbs(`${path}.verbs`, rule.verbs ?? [], errors);
  const urls = rule.nonResourceURLs ?? [];
  const at = `${path}.nonResourceURLs`;
  if (urls.length === 0) errors.required(at, "nonResourceURLs must contain at least one value");
  else if (urls.includes("*")) {
    if (urls.length > 1)
      errors.invalid(at, urls, "if '*' is present, must not specify other non-resource URLs");
  } else
    for (const [i, url] of urls.entries()) {
      const problem = urlProblem(url);
      if (problem) errors.invalid(`${at}[${i}]`, url, problem);
    }
}

function urlProblem(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url === "/") return undefined;
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const stars = url.split("*").length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith("/*"))
    ? "wildcard can only do suffix matching"
    : undefined;
}

function checkResourceRule(path: string, rule: ResourcePolicyRule, errors: Errors): void {
  checkVerbs(`${path}.verbs`, rule.verbs ?? [], errors);
  const lists = [
    ["apiGroups", "api group", "api groups"],
    ["resources", "resource", "resources"],
  ] as const;
  for (const [field, one, many] of lists) {
    const list = rule[field] ?? [];
    if (list.length === 0)
      errors.required(`${path}.${field}`, `resource rules must supply at least one ${one}`);
    else if (list.length > 1 && list.includes("*"))
      errors.invalid(`${path}.${field}`, list, `if '*' is present, must not specify other ${many}`);
  }
  const namespaces = rule.namespaces ?? [];
  const at = `${path}.namespaces`;
  if (namespaces.length === 0 && !rule.clusterScope)
    errors.required(at, "resource rules that are not cluster scoped must supply at least one namespace");
  else if (namespaces.includes("*")) {
    if (namespaces.length > 1)
      errors.invalid(at, namespaces, "if '*' is present, must not specify other namespaces");
  } else
    for (const [i, name] of namespaces.entries())
      for (const message of validateDns1123Label(name))
        errors.invalid(
          `${at}[${i}]`,
          name,
          `each member of this list must be '*' or a DNS-1123 label; ${message}`,
        );
}

function checkConditionTypes(conditions: readonly { type?: string }[], errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { type = "" }] of conditions.entries()) {
    if (seen.has(type)) errors.duplicate(`status.conditions[${i}].type`, type);
    seen.add(type);
    if (type === "") errors.required(`status.conditions[${i}].type`);
  }
}

/** What the server itself keeps may not be bent. */
const mandatory = ["exempt", "catch-all"];

export const flowSchemas: Strategy = {
  validate: checking(checkSchema),
  validateUpdate: checkingUpdate<FlowSchema>((now, old, errors) => {
    checkSchema(now, errors);
    const name = now.metadata?.name ?? "";
    if (mandatory.includes(name) && !deepEqual(now.spec, old.spec))
      errors.invalid("spec", now.spec, `spec of '${name}' must equal the fixed value`);
  }),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<FlowSchema>(({ status }, _old, errors) =>
        checkConditionTypes(status?.conditions ?? [], errors),
      ),
    },
  },
};

const preserveZero = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const notANaturalNumber = "must be a non-negative integer";

function checkShares(
  path: string,
  { nominalConcurrencyShares: shares }: { nominalConcurrencyShares?: number },
  errors: Errors,
): void {
  if (shares !== undefined && shares < 0)
    errors.invalid(`${path}.nominalConcurrencyShares`, shares, notANaturalNumber);
}

function checkLendable(
  path: string,
  { lendablePercent: share }: { lendablePercent?: number },
  errors: Errors,
): void {
  if (share !== undefined && (share < 0 || share > 100))
    errors.invalid(`${path}.lendablePercent`, share, "must be between 0 and 100, inclusive");
}

function checkLevel({ metadata, spec, status }: PriorityLevelConfiguration, errors: Errors): void {
  if (metadata?.annotations?.[preserveZero] !== undefined)
    errors.forbidden("metadata.annotations", `annotation '${preserveZero}' is forbidden`);
  const { type, exempt, limited } = spec ?? {};
  if ((metadata?.name === "exempt") !== (type === "Exempt"))
    errors.invalid("spec.type", type ?? "", "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type === "Exempt") {
    if (limited) errors.forbidden("spec.limited", "must be nil if the type is not Limited");
    if (exempt) {
      checkShares("spec.exempt", exempt, errors);
      checkLendable("spec.exempt", exempt, errors);
    }
  } else if (type === "Limited") {
    if (exempt) errors.forbidden("spec.exempt", "must be nil if the type is Limited");
    if (!limited) errors.required("spec.limited", "must not be empty when type is Limited");
    else {
      checkShares("spec.limited", limited, errors);
      checkResponse("spec.limited.limitResponse", limited.limitResponse, errors);
      checkLendable("spec.limited", limited, errors);
      const { borrowingLimitPercent: limit } = limited;
      if (limit !== undefined && limit < 0)
        errors.invalid("spec.limited.borrowingLimitPercent", limit, `if specified, ${notANaturalNumber}`);
    }
  } else if (!type) errors.required("spec.type");
  else errors.notSupported("spec.type", type, ["Exempt", "Limited"]);
  checkConditionTypes(status?.conditions ?? [], errors);
}

function checkResponse(path: string, response: LimitResponse | undefined, errors: Errors): void {
  const { type, queuing } = response ?? {};
  const at = `${path}.queuing`;
  if (type === "Reject") {
    if (queuing) errors.forbidden(at, "must be nil if limited.limitResponse.type is not Limited");
  } else if (type === "Queue") {
    if (queuing) checkQueuing(at, queuing, errors);
    else errors.required(at, "must not be empty if limited.limitResponse.type is Limited");
  } else if (!type) errors.required(`${path}.type`);
  else errors.notSupported(`${path}.type`, type, ["Queue", "Reject"]);
}

const mostQueues = 10_000_000;
const hashBits = 60;

function checkQueuing(path: string, queuing: QueuingConfiguration, errors: Errors): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  const positive = "must be positive";
  if (queueLengthLimit <= 0) errors.invalid(`${path}.queueLengthLimit`, queueLengthLimit, positive);
  if (queues <= 0) errors.invalid(`${path}.queues`, queues, positive);
  else if (queues > mostQueues)
    errors.invalid(`${path}.queues`, queues, `must not be greater than ${mostQueues}`);
  const at = `${path}.handSize`;
  if (handSize <= 0) errors.invalid(at, handSize, positive);
  else if (handSize > queues) errors.invalid(at, handSize, `should not be greater than queues (${queues})`);
  else {
    let bits = 0;
    for (let i = 0; i < handSize; i++) bits += Math.log2(queues - i);
    if (Math.ceil(bits) > hashBits)
      errors.invalid(
        at,
        handSize,
        `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`,
      );
  }
}

export const priorityLevelConfigurations: Strategy = {
  validate: checking(checkLevel),
  validateUpdate: checkingUpdate<PriorityLevelConfiguration>((now, old, errors) => {
    checkLevel(now, errors);
    const name = now.metadata?.name ?? "";
    if (!mandatory.includes(name)) return;
    const except = name === "exempt" ? " except the 'spec.exempt' field" : "";
    const fixed = ({ spec }: PriorityLevelConfiguration) =>
      name === "exempt" ? { ...spec, exempt: undefined } : spec;
    if (!deepEqual(fixed(now), fixed(old)))
      errors.invalid("spec", now.spec, `spec of '${name}'${except} must equal the fixed value`);
  }),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<PriorityLevelConfiguration>(({ status }, _old, errors) =>
        checkConditionTypes(status?.conditions ?? [], errors),
      ),
    },
  },
};
