/** Limit ranges and resource quotas. */
import { Quantity, validateQualifiedName } from "@keelson/core";
import type { LimitRange, LimitRangeItem, ResourceQuota, ResourceQuotaSpec } from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { immutable } from "../checks/formats.ts";
import { checkedAlike, checking, checkingUpdate } from "../checks/strategies.ts";
import {
  checkContainerResource,
  checkQuotaResourceName,
  checkResourceAmount,
  checkResourceName,
  isStandardQuotaName,
  mayOvercommit,
} from "./resources.ts";

type List = Readonly<Record<string, string | number>>;

const standardTypes = new Set(["Pod", "Container", "PersistentVolumeClaim"]);
const listFields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function checkType(path: string, type: string, errors: Errors): void {
  const problems = validateQualifiedName(type);
  errors.messages(path, type, problems);
  if (problems.length === 0 && !type.includes("/") && !standardTypes.has(type))
    errors.invalid(path, type, "must be a standard limit type or fully qualified");
}

function checkItem(path: string, item: LimitRangeItem, errors: Errors): void {
  const keys = new Set<string>();
  const amounts: Partial<Record<(typeof listFields)[number], Map<string, Quantity>>> = {};
  const checkName =
    item.type === "Pod" || item.type === "Container" ? checkContainerResource : checkResourceName;
  const read = (field: (typeof listFields)[number]) => {
    const list: List = item[field] ?? {};
    const read = new Map<string, Quantity>();
    for (const name in list) {
      checkName(`${path}.${field}[${name}]`, name, errors);
      keys.add(name);
      read.set(name, Quantity.from(list[name] as string));
    }
    amounts[field] = read;
  };
  read("max");
  read("min");
  if (item.type === "Pod") {
    for (const field of ["default", "defaultRequest"] as const)
      if (Object.keys(item[field] ?? {}).length > 0)
        errors.forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'");
  } else {
    read("default");
    read("defaultRequest");
  }
  if (
    item.type === "PersistentVolumeClaim" &&
    item.min?.storage === undefined &&
    item.max?.storage === undefined
  )
    errors.required(
      `${path}.limits`,
      "either minimum or maximum storage value is required, but neither was provided",
    );
  read("maxLimitRequestRatio");
  for (const name of [...keys].sort()) checkBounds(path, name, amounts, errors);
}

function checkBounds(
  path: string,
  name: string,
  amounts: Partial<Record<(typeof listFields)[number], Map<string, Quantity>>>,
  errors: Errors,
): void {
  const [max, min, limit, request, ratio] = listFields.map((field) => amounts[field]?.get(name));
  const at = (field: string) => `${path}.${field}[${name}]`;
  const above = (a: Quantity | undefined, b: Quantity | undefined) => a && b && a.compare(b) > 0;
  if (above(min, max))
    errors.invalid(at("min"), `${min}`, `min value ${min} is greater than max value ${max}`);
  if (above(min, request))
    errors.invalid(
      at("defaultRequest"),
      `${request}`,
      `min value ${min} is greater than default request value ${request}`,
    );
  if (above(request, max))
    errors.invalid(
      at("defaultRequest"),
      `${request}`,
      `default request value ${request} is greater than max value ${max}`,
    );
  if (above(request, limit))
    errors.invalid(
      at("defaultRequest"),
      `${request}`,
      `default request value ${request} is greater than default limit value ${limit}`,
    );
  if (above(min, limit))
    errors.invalid(at("default"), `${min}`, `min value ${min} is greater than default value ${limit}`);
  if (above(limit, max))
    errors.invalid(at("default"), `${max}`, `default value ${limit} is greater than max value ${max}`);
  if (ratio && ratio.compare(Quantity.of(1)) < 0)
    errors.invalid(at("maxLimitRequestRatio"), `${ratio}`, `ratio ${ratio} is less than 1`);
  if (ratio && min && max) {
    const bound = Number(max.milliValue()) / Number(min.milliValue());
    if (Number(ratio.milliValue()) / 1000 > bound)
      errors.invalid(
        at("maxLimitRequestRatio"),
        `${ratio}`,
        `ratio ${ratio} is greater than max/min = ${bound.toFixed(6)}`,
      );
  }
  if (!mayOvercommit(name) && limit && request && limit.compare(request) !== 0)
    errors.invalid(
      at("defaultRequest"),
      `${request}`,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
    );
}

const limitRangeRules = checkedAlike<LimitRange>((range, errors) => {
  const types = new Set<string>();
  for (const [i, item] of (range.spec?.limits ?? []).entries()) {
    const at = `spec.limits[${i}]`;
    checkType(`${at}.type`, item.type, errors);
    if (types.has(item.type)) errors.duplicate(`${at}.type`, item.type);
    types.add(item.type);
    checkItem(at, item, errors);
  }
});

export const limitRanges: Strategy = {
  ...limitRangeRules,
  prepareForCreate(draft, { random }) {
    if (!draft.metadata.name) draft.metadata.name = random.uuid();
  },
};

const podScopes = new Set([
  "Terminating",
  "NotTerminating",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
]);
const allScopes = new Set([...podScopes, "BestEffort", "VolumeAttributesClass"]);
const podResources = new Set([
  "pods",
  "cpu",
  "memory",
  "limits.cpu",
  "limits.memory",
  "requests.cpu",
  "requests.memory",
]);
const claimResources = new Set(["persistentvolumeclaims", "requests.storage"]);
const existsOnly = new Set([
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
]);

function fits(scope: string, resource: string): boolean {
  if (podScopes.has(scope)) return podResources.has(resource);
  if (scope === "BestEffort") return resource === "pods";
  if (scope === "VolumeAttributesClass") return claimResources.has(resource);
  return true;
}

function conflicting(scopes: ReadonlySet<string>): boolean[] {
  return [
    scopes.has("BestEffort") && scopes.has("NotBestEffort"),
    scopes.has("Terminating") && scopes.has("NotTerminating"),
  ].filter(Boolean);
}

function checkAmounts(path: string, list: List | undefined, errors: Errors): void {
  for (const name in list) {
    const at = `${path}[${name}]`;
    checkQuotaResourceName(at, name, errors);
    checkResourceAmount(at, name, Quantity.from(list[name] as string), errors);
  }
}

function checkQuotaSpec(spec: ResourceQuotaSpec, errors: Errors): void {
  checkAmounts("spec.hard", spec.hard, errors);
  const hard = Object.keys(spec.hard ?? {})
    .sort()
    .filter(isStandardQuotaName);
  const scopes = spec.scopes ?? [];
  for (const scope of scopes) {
    if (!allScopes.has(scope)) errors.invalid("spec.scopes", scopes, "unsupported scope");
    for (const name of hard)
      if (!fits(scope, name)) errors.invalid("spec.scopes", scopes, "unsupported scope applied to resource");
  }
  for (const _ of conflicting(new Set(scopes))) errors.invalid("spec.scopes", scopes, "conflicting scopes");
  if (spec.scopeSelector) checkScopeSelector(spec, hard, errors);
}

function checkScopeSelector(spec: ResourceQuotaSpec, hard: readonly string[], errors: Errors): void {
  const path = "spec.scopeSelector.matchExpressions";
  const seen = new Set<string>();
  for (const { scopeName, operator, values = [] } of spec.scopeSelector?.matchExpressions ?? []) {
    if (!allScopes.has(scopeName)) errors.invalid(`${path}.scopeName`, scopeName, "unsupported scope");
    for (const name of hard)
      if (!fits(scopeName, name))
        errors.invalid(path, spec.scopeSelector, "unsupported scope applied to resource");
    if (existsOnly.has(scopeName) && operator !== "Exists")
      errors.invalid(
        `${path}.operator`,
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      );
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0)
        errors.required(
          `${path}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        );
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0)
        errors.invalid(
          `${path}.values`,
          values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        );
    } else errors.invalid(`${path}.operator`, operator, "not a valid selector operator");
    seen.add(scopeName);
  }
  for (const _ of conflicting(seen)) errors.invalid(path, spec.scopes ?? null, "conflicting scopes");
}

export const resourceQuotas: Strategy = {
  validate: checking<ResourceQuota>((quota, errors) => checkQuotaSpec(quota.spec ?? {}, errors)),
  validateUpdate: checkingUpdate<ResourceQuota>((quota, old, errors) => {
    checkQuotaSpec(quota.spec ?? {}, errors);
    const now = new Set<string>(quota.spec?.scopes ?? []);
    const before = new Set<string>(old.spec?.scopes ?? []);
    if (now.size !== before.size || [...now].some((scope) => !before.has(scope)))
      errors.invalid("spec.scopes", quota.spec?.scopes ?? null, immutable);
  }),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<ResourceQuota>((quota, _old, errors) => {
        checkAmounts("status.hard", quota.status?.hard, errors);
        checkAmounts("status.used", quota.status?.used, errors);
      }),
    },
  },
};
