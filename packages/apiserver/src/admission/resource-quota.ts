/** ResourceQuota: a namespace uses no more than it is given. */
import { Quantity } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "@keelson/core/kinds";
import { type Amounts, addAmounts, amountsOf, type Evaluator, evaluatorOf } from "@keelson/workloads";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext } from "../contracts/plugin.ts";
import { refused } from "./refusals.ts";

const quotas = { group: "", resource: "resourcequotas" };
/** Events come and go by the thousand, and nobody counts reviews. */
const ignored = new Set([
  "/events",
  "/bindings",
  "authentication.k8s.io/tokenreviews",
  "authentication.k8s.io/selfsubjectreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "authorization.k8s.io/subjectaccessreviews",
  "apiregistration.k8s.io/apiservices",
  "apiextensions.k8s.io/customresourcedefinitions",
]);

export function resourceQuota({ store, clock }: PluginContext): AdmissionPlugin {
  const charge = async (namespace: string, charges: readonly Charge[]): Promise<void> => {
    for (const { quota, used } of charges)
      await store.update(quotas, namespace, quota.metadata?.name ?? "", (draft) => withUsage(draft, used));
  };
  return {
    name: "ResourceQuota",
    validate(request) {
      const { namespace, resource, operation, kind } = request;
      if (!namespace || operation === "DELETE" || operation === "CONNECT") return undefined;
      if (kind.kind === "Namespace" || ignored.has(`${resource.group}/${resource.resource}`))
        return undefined;
      const all = store.list(quotas, namespace) as unknown as readonly ResourceQuota[];
      if (all.length === 0) return undefined;
      const evaluator = evaluatorOf(resource.group, resource.resource);
      if (!evaluator.handles(request)) return undefined;
      const charges = chargesOf(request, evaluator, all, clock.now());
      return request.dryRun ? undefined : charge(namespace, charges);
    },
  };
}

interface Charge {
  readonly quota: ResourceQuota;
  /** What is added to the quota's usage. */
  readonly used: Amounts;
}

function scopesOf({ spec }: ResourceQuota): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" as const })),
    ...(spec?.scopeSelector?.matchExpressions ?? []),
  ];
}

function matches(quota: ResourceQuota, evaluator: Evaluator, object: ApiObject): boolean {
  const names = evaluator.matching(Object.keys(quota.status?.hard ?? {}));
  return names.length > 0 && scopesOf(quota).every((scope) => evaluator.matchesScope(scope, object));
}

/** Throws when one of the quotas does not allow the request. */
function chargesOf(
  request: AdmissionRequest,
  evaluator: Evaluator,
  all: readonly ResourceQuota[],
  nowMs: number,
): Charge[] {
  const object = request.object as ApiObject;
  const concerned: ResourceQuota[] = [];
  for (const quota of all) {
    if (!matches(quota, evaluator, object)) continue;
    const name = quota.metadata?.name ?? "";
    const names = evaluator.matching(Object.keys(quota.status?.hard ?? {}));
    const missing = evaluator.missing?.(names, object);
    if (missing) throw refused(request, `failed quota: ${name}: ${missing}`);
    if (names.some((entry) => quota.status?.used?.[entry] === undefined))
      throw refused(
        request,
        `status unknown for quota: ${name}, resources: ${names.sort(compareBytes).join(",")}`,
      );
    concerned.push(quota);
  }
  if (concerned.length === 0) return [];
  const usage = evaluator.usage(object, nowMs);
  const old = request.operation === "UPDATE" ? request.oldObject : undefined;
  const before = old ? evaluator.usage(old, nowMs) : undefined;
  return concerned.flatMap((quota) => {
    const counts = before && old && matches(quota, evaluator, old);
    const used = within(quota, counts ? added(usage, before) : usage);
    if (used.size === 0) return [];
    if (request.subresource !== "status") checkHard(request, quota, used);
    return [{ quota, used }];
  });
}

function added(now: Amounts, before: Amounts): Amounts {
  const more: Amounts = new Map();
  for (const [name, amount] of now) {
    const old = before.get(name);
    const delta = old ? amount.sub(old) : amount;
    if (delta.sign() > 0) more.set(name, delta);
  }
  return more;
}

/** What the quota limits, without zeros. */
function within({ status }: ResourceQuota, usage: Amounts): Amounts {
  return new Map(
    [...usage].filter(([name, amount]) => status?.hard?.[name] !== undefined && !amount.isZero()),
  );
}

function checkHard(request: AdmissionRequest, quota: ResourceQuota, requested: Amounts): void {
  const hard = amountsOf(quota.status?.hard);
  const used = amountsOf(quota.status?.used);
  const exceeded = [...requested.keys()]
    .filter((name) => {
      const total = (used.get(name) ?? Quantity.of(0)).add(requested.get(name) as Quantity);
      return total.compare(hard.get(name) as Quantity) > 0;
    })
    .sort(compareBytes);
  if (exceeded.length === 0) return;
  const shown = (amounts: Amounts) => exceeded.map((name) => `${name}=${amounts.get(name) ?? "0"}`).join(",");
  throw refused(
    request,
    `exceeded quota: ${quota.metadata?.name}, requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`,
  );
}

function withUsage(draft: ApiObject, more: Amounts): ApiObject {
  const quota = draft as unknown as ResourceQuota;
  const used = amountsOf(quota.status?.used);
  addAmounts(used, more);
  quota.status = {
    ...quota.status,
    used: Object.fromEntries([...used].map(([name, amount]) => [name, amount.toString()])),
  };
  return draft;
}
