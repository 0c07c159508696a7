/** Keeps the rules of aggregated cluster roles: the union of those their selectors match. */
import {
  compareBytes,
  deepEqual,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
} from "@keelson/core";
import type { AggregationRule, ClusterRole, PolicyRule } from "@keelson/core/kinds";
import type { ApiObject, StoreWriter } from "../hooks.ts";
import { clusterRoles } from "./bindings.ts";

/** Starts at the first change; does nothing while all aggregated roles are as they should be. */
export function keepAggregatedRoles(store: StoreWriter): void {
  let scheduled = false;
  store.subscribe(clusterRoles, () => {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      settle(store);
    });
  });
}

function settle(store: StoreWriter): void {
  const all = store.list(clusterRoles);
  for (const role of all) {
    const selectors = (role.aggregationRule as AggregationRule | undefined)?.clusterRoleSelectors;
    if (!selectors?.length || role.metadata.deletionTimestamp) continue;
    const rules = gather(all, role, selectors as LabelSelectorObject[]);
    if (deepEqual((role as unknown as ClusterRole).rules ?? [], rules)) continue;
    void store.update(
      clusterRoles,
      "",
      role.metadata.name,
      (draft) =>
        ({
          ...draft,
          rules: rules as unknown as ApiObject["rules"],
        }) as ApiObject,
    );
  }
}

function gather(
  all: readonly ApiObject[],
  role: ApiObject,
  selectors: readonly LabelSelectorObject[],
): PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const selector of selectors) {
    const compiled = labelSelectorFrom(selector);
    const matching = all
      .filter((other) => other !== role && matchesLabels(compiled, other.metadata.labels))
      .sort((a, b) => compareBytes(a.metadata.name, b.metadata.name));
    for (const other of matching)
      for (const rule of (other as unknown as ClusterRole).rules ?? [])
        if (!rules.some((known) => deepEqual(known, rule))) rules.push(rule);
  }
  return rules;
}
