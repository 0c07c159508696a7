/** Keeps the rules of aggregated cluster roles: the union of those their selectors match. */
import {
  deepEqual,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
  type ObjectOf,
} from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import { ClusterRole } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";

type Role = ObjectOf<typeof ClusterRole>;

/** Any role may belong to any aggregated one, so all of them are looked at together. */
const everyRole = "all";
const watches = { roles: watch(ClusterRole, { keys: () => [everyRole] }) };

export function clusterRoleAggregationController(): RawController {
  return rawController({
    name: "clusterrole-aggregation-controller",
    fieldManager: "clusterrole-aggregation-controller",
    watches,
    writes: [allow(ClusterRole, ["patch"])],
    reconcile: async (_, ctx: RawContext<typeof watches>) => {
      const all = ctx.caches.roles.list();
      for (const role of all) {
        const selectors = role.aggregationRule?.clusterRoleSelectors;
        if (!selectors?.length || role.metadata.deletionTimestamp) continue;
        const rules = gather(all, role, selectors as LabelSelectorObject[]);
        if (deepEqual(role.rules ?? [], rules)) continue;
        await ctx.kind(ClusterRole).apply({ metadata: { name: role.metadata.name }, rules }, { force: true });
      }
    },
  });
}

function gather(
  all: readonly Role[],
  role: Role,
  selectors: readonly LabelSelectorObject[],
): NonNullable<Role["rules"]> {
  const rules: NonNullable<Role["rules"]> = [];
  for (const selector of selectors) {
    const compiled = labelSelectorFrom(selector);
    const matching = all
      .filter((other) => other !== role && matchesLabels(compiled, other.metadata.labels))
      .sort((a, b) => compareBytes(a.metadata.name, b.metadata.name));
    for (const other of matching)
      for (const rule of other.rules ?? [])
        if (!rules.some((known) => deepEqual(known, rule))) rules.push(rule);
  }
  return rules;
}
