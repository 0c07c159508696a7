/** Requests and limits of containers and pods. */
import { Quantity, validateDns1123Label, validateQualifiedName } from "@keelson/core";
import type { ResourceRequirements } from "@keelson/core/kinds";
import { isPodLevelResource } from "@keelson/workloads";
import type { Errors } from "../checks/errors.ts";

type ResourceList = Readonly<Record<string, string | number>>;

const set = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

const standard = set(`cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage
  limits.cpu limits.memory limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets
  configmaps persistentvolumeclaims storage requests.storage services.nodeports services.loadbalancers`);
const standardForContainers = set("cpu memory ephemeral-storage");
const standardForQuota = set(`cpu memory ephemeral-storage requests.cpu requests.memory requests.storage
  requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage pods resourcequotas services
  replicationcontrollers secrets persistentvolumeclaims configmaps services.nodeports services.loadbalancers`);
const integers = set(`pods resourcequotas services replicationcontrollers secrets configmaps
  persistentvolumeclaims services.nodeports services.loadbalancers`);

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

export function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

function isExtended(name: string): boolean {
  if (isNative(name) || name.startsWith("requests.")) return false;
  return validateQualifiedName(`requests.${name}`).length === 0;
}

export function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** Names that appear in every pod are looked up rather than parsed. */
export function checkResourceName(path: string, name: string, errors: Errors): boolean {
  if (standard.has(name)) return true;
  const problems = validateQualifiedName(name);
  errors.messages(path, name, problems);
  if (problems.length > 0) return false;
  if (name.includes("/") || isHugePages(name) || name.startsWith("requests.hugepages-")) return true;
  errors.invalid(path, name, "must be a standard resource type or fully qualified");
  return false;
}

export function checkContainerResource(path: string, name: string, errors: Errors): void {
  if (standardForContainers.has(name)) return;
  checkResourceName(path, name, errors);
  if (!name.includes("/")) {
    if (!isHugePages(name)) errors.invalid(path, name, "must be a standard resource for containers");
  } else if (!isNative(name) && !isExtended(name))
    errors.invalid(path, name, "doesn't follow extended resource name standard");
}

function checkPodResourceName(path: string, name: string, errors: Errors): void {
  if (checkResourceName(path, name, errors) && !isPodLevelResource(name))
    errors.notSupported(path, name, ["cpu", "hugepages-", "memory"]);
}

export function isStandardQuotaName(name: string): boolean {
  return standardForQuota.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-");
}

export function checkQuotaResourceName(path: string, name: string, errors: Errors): void {
  checkResourceName(path, name, errors);
  if (!name.includes("/") && !isStandardQuotaName(name))
    errors.invalid(path, name, "must be a standard resource for quota");
}

export function checkResourceAmount(path: string, name: string, amount: Quantity, errors: Errors): void {
  if (amount.sign() < 0) errors.invalid(path, amount.toString(), "must be greater than or equal to 0");
  if ((integers.has(name) || isExtended(name)) && amount.milliValue() % 1000n !== 0n)
    errors.invalid(path, amount.toString(), "must be an integer");
}

export interface RequirementRules {
  readonly pod?: boolean;
  /** Huge pages that do not divide were accepted before. */
  readonly allowIndivisible?: boolean;
}

export function checkRequirements(
  path: string,
  requirements: ResourceRequirements | undefined,
  claims: ReadonlySet<string>,
  errors: Errors,
  rules: RequirementRules = {},
): void {
  if (!requirements) return;
  const checkName = rules.pod ? checkPodResourceName : checkContainerResource;
  const limits: ResourceList = requirements.limits ?? {};
  const requests: ResourceList = requirements.requests ?? {};
  let computes = false;
  let huge = false;
  const look = (at: string, name: string, amount: Quantity) => {
    checkName(at, name, errors);
    checkResourceAmount(at, name, amount, errors);
    if (name === "cpu" || name === "memory") computes = true;
  };
  const lookHuge = (at: string, name: string, amount: Quantity) => {
    if (!isHugePages(name)) return;
    huge = true;
    if (!rules.allowIndivisible && !divides(name, amount))
      errors.invalid(
        at,
        amount.toString(),
        `${amount.toString()} is not positive integer multiple of ${name}`,
      );
  };
  for (const name in limits) {
    const at = `${path}.limits[${name}]`;
    const amount = Quantity.from(limits[name] as string);
    look(at, name, amount);
    lookHuge(at, name, amount);
  }
  for (const name in requests) {
    const at = `${path}.requests[${name}]`;
    const amount = Quantity.from(requests[name] as string);
    look(at, name, amount);
    const limit = limits[name];
    if (limit !== undefined) {
      const bound = Quantity.from(limit);
      if (!mayOvercommit(name)) {
        if (amount.compare(bound) !== 0)
          errors.invalid(
            `${path}.requests`,
            amount.toString(),
            `must be equal to ${name} limit of ${bound.toString()}`,
          );
      } else if (amount.compare(bound) > 0)
        errors.invalid(
          `${path}.requests`,
          amount.toString(),
          `must be less than or equal to ${name} limit of ${bound.toString()}`,
        );
    } else if (!mayOvercommit(name))
      errors.required(`${path}.limits`, "Limit must be set for non overcommitable resources");
    lookHuge(at, name, amount);
  }
  if (huge && !computes) errors.forbidden(path, "HugePages require cpu or memory");
  checkClaimNames(`${path}.claims`, requirements.claims ?? [], claims, errors);
}

function divides(name: string, amount: Quantity): boolean {
  let page: Quantity;
  try {
    page = Quantity.parse(name.slice("hugepages-".length));
  } catch {
    return false;
  }
  if (page.sign() <= 0 || page.milliValue() % 1000n !== 0n) return false;
  return amount.value() % page.value() === 0n;
}

function checkClaimNames(
  path: string,
  claims: readonly { name: string; request?: string }[],
  known: ReadonlySet<string>,
  errors: Errors,
): void {
  const names = new Set<string>();
  for (const [i, { name, request }] of claims.entries()) {
    const at = `${path}[${i}]`;
    if (!name) {
      errors.required(at);
      continue;
    }
    if (names.has(name)) errors.duplicate(at, name);
    else {
      if (request) errors.messages(`${at}.request`, request, validateDns1123Label(request));
      const key = request ? `${name}/${request}` : name;
      if (names.has(key)) errors.duplicate(at, key);
      else if (!request)
        for (const other of names) if (other.startsWith(`${name}/`)) errors.duplicate(at, name);
      names.add(key);
    }
    if (known.has(name)) continue;
    const list = known.size === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
    errors.list.push({
      type: "FieldValueNotFound",
      field: at,
      value: name,
      detail: `must be one of the names in pod.spec.resourceClaims${list}`,
    });
  }
}
