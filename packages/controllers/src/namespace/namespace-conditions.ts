/** Conditions that tell how the deletion of a namespace goes. */
import { formatTime } from "@keelson/core";
import { compareBytes, lookupTable } from "@keelson/core/internal";
import type { NamespaceCondition } from "@keelson/core/kinds";

/** What was found while emptying a namespace. */
export interface Emptying {
  /** How many objects are left, by `resource.group`. */
  readonly remaining: ReadonlyMap<string, number>;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly discoveryFailures: readonly { readonly groupVersion: string; readonly message: string }[];
  readonly deleteFailures: readonly string[];
  /** Pods are left, so nothing else was looked at: totals would mislead. */
  readonly podsFirst: boolean;
}

/** Whether nothing is left. Of groups that did not answer nobody knows. */
export function isEmptied({ remaining, discoveryFailures, deleteFailures }: Emptying): boolean {
  return remaining.size === 0 && discoveryFailures.length === 0 && deleteFailures.length === 0;
}

type Problem = readonly [reason: string, message: string];

const fine: Readonly<Record<string, Problem>> = lookupTable({
  NamespaceDeletionDiscoveryFailure: ["ResourcesDiscovered", "All resources successfully discovered"],
  NamespaceDeletionGroupVersionParsingFailure: [
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
});

function problemsOf(found: Emptying): Record<string, Problem> {
  const problems: Record<string, Problem> = {};
  const { discoveryFailures, deleteFailures, remaining, finalizers, podsFirst } = found;
  if (discoveryFailures.length > 0) {
    const list = discoveryFailures
      .map(({ groupVersion, message }) => `${groupVersion}: ${message}`)
      .join(", ");
    const failed = `unable to retrieve the complete list of server APIs: ${list}`;
    problems.NamespaceDeletionDiscoveryFailure = [
      "DiscoveryFailed",
      `Discovery failed for some groups, ${discoveryFailures.length} failing: ${failed}`,
    ];
  }
  if (deleteFailures.length > 0) {
    const list = deleteFailures.toSorted(compareBytes).join(", ");
    problems.NamespaceDeletionContentFailure = [
      "ContentDeletionFailed",
      `Failed to delete all resource types, ${deleteFailures.length} remaining: ${list}`,
    ];
  }
  if (podsFirst) return problems;
  if (remaining.size > 0) {
    const list = [...remaining].map(([resource, count]) => `${resource} has ${count} resource instances`);
    problems.NamespaceContentRemaining = [
      "SomeResourcesRemain",
      `Some resources are remaining: ${list.sort(compareBytes).join(", ")}`,
    ];
  }
  if (finalizers.size > 0) {
    const list = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
    problems.NamespaceFinalizersRemaining = [
      "SomeFinalizersRemain",
      `Some content in the namespace has finalizers remaining: ${list.sort(compareBytes).join(", ")}`,
    ];
  }
  return problems;
}

/** The conditions as they should be; the very same list when nothing changed. */
export function namespaceConditions(
  current: readonly NamespaceCondition[],
  found: Emptying,
  nowMs: number,
): readonly NamespaceCondition[] {
  const problems = problemsOf(found);
  let isChanged = false;
  const next = [...current];
  for (const [type, good] of Object.entries(fine)) {
    const problem = problems[type];
    const [reason, message] = problem ?? good;
    const status = problem ? "True" : "False";
    const index = next.findIndex((condition) => condition.type === type);
    const old = next[index];
    if (old && old.status === status && old.reason === reason && old.message === message) continue;
    isChanged = true;
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : formatTime(nowMs);
    const condition = { type, status, reason, message, lastTransitionTime };
    if (old) next[index] = condition;
    else next.push(condition);
  }
  return isChanged ? next : current;
}
