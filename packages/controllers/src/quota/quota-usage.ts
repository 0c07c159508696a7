/** What a quota's status says: limits as asked for, and how much of each is used. */
import { deepEqual, type ObjectOf, Quantity } from "@keelson/core";
import type {
  ResourceQuota,
  ResourceQuotaStatus,
  ScopedResourceSelectorRequirement,
} from "@keelson/core/kinds";
import { evaluatorOf } from "@keelson/workloads";

export type QuotaObject = ObjectOf<typeof ResourceQuota>;

/** A resource that quotas can limit. */
export interface Countable {
  readonly group: string;
  readonly resource: string;
}

const core = ["pods", "services", "persistentvolumeclaims"].map((resource) => ({ group: "", resource }));
const aliases = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

/** The resources that a quota counts. */
export function countablesOf({ spec }: QuotaObject): Countable[] {
  const names = Object.keys(spec.hard ?? {});
  const counted = new Map<string, Countable>();
  const add = (countable: Countable) => counted.set(`${countable.group}/${countable.resource}`, countable);
  for (const each of core) if (evaluatorOf(each.group, each.resource).matching(names).length > 0) add(each);
  for (const name of names) {
    const plain = name.startsWith("count/")
      ? name.slice("count/".length)
      : aliases.has(name)
        ? name
        : undefined;
    if (plain === undefined) continue;
    const dot = plain.indexOf(".");
    add(
      dot < 0
        ? { group: "", resource: plain }
        : { group: plain.slice(dot + 1), resource: plain.slice(0, dot) },
    );
  }
  return [...counted.values()];
}

/** Whether a quota limits this resource. */
export function counts(quota: QuotaObject, { group, resource }: Countable): boolean {
  return evaluatorOf(group, resource).matching(Object.keys(quota.spec.hard ?? {})).length > 0;
}

function scopesOf({ spec }: QuotaObject): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" as const })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

export interface Counted extends Countable {
  /** All objects of the resource in the quota's namespace. */
  readonly objects: readonly object[];
}

/** The status as it should be; undefined when it is. Names that nobody can count keep what was said of them. */
export function quotaStatus(
  quota: QuotaObject,
  counted: readonly Counted[],
  nowMs: number,
  onlyMore = false,
): ResourceQuotaStatus | undefined {
  const hard = quota.spec.hard ?? {};
  const names = Object.keys(hard);
  const scopes = scopesOf(quota);
  const totals = new Map<string, Quantity>();
  for (const { group, resource, objects } of counted) {
    const evaluator = evaluatorOf(group, resource);
    const wanted = new Set(evaluator.matching(names));
    for (const name of wanted) if (!totals.has(name)) totals.set(name, Quantity.of(0));
    for (const object of objects) {
      if (!scopes.every((scope) => evaluator.matchesScope(scope, object))) continue;
      for (const [name, amount] of evaluator.usage(object, nowMs)) {
        if (wanted.has(name)) totals.set(name, (totals.get(name) ?? Quantity.of(0)).add(amount));
      }
    }
  }
  const used: Record<string, string> = {};
  for (const name of names) {
    const before = quota.status?.used?.[name];
    const total = totals.get(name);
    const keeps = onlyMore && before !== undefined && total && total.compare(Quantity.from(before)) < 0;
    const value = keeps ? before : (total?.toString() ?? before);
    if (value !== undefined) used[name] = String(value);
  }
  const isSame =
    deepEqual(quota.status?.hard ?? {}, hard) &&
    quota.status?.used !== undefined &&
    sameAmounts(quota.status.used, used);
  return isSame ? undefined : { hard, used };
}

function sameAmounts(
  a: Readonly<Record<string, string | number>>,
  b: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.keys(a).length === Object.keys(b).length &&
    Object.entries(b).every(([name, value]) => {
      const other = a[name];
      return other !== undefined && Quantity.from(other).compare(Quantity.from(value)) === 0;
    })
  );
}
