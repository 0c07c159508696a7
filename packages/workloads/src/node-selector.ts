/** Which nodes a pod or a volume may be on, by labels and name. */
import { type LabelOperator, labelSelectorFromLabels, matchesLabels, type ObjectOf } from "@keelson/core";
import { labelRequirement, lookupTable } from "@keelson/core/internal";
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
} from "@keelson/core/kinds";

/** A Node as the server returns it. */
export type NodeObject = ObjectOf<typeof Node>;

const operators: Record<string, LabelOperator> = lookupTable({
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
  Gt: "gt",
  Lt: "lt",
});

type Named = Pick<NodeObject, "metadata">;

/** One term must match; a term without requirements matches nothing. */
export function matchesNodeSelector(selector: NodeSelector, node: Named): boolean {
  return selector.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** Whether a node matches one term of a node selector. */
export function matchesTerm(term: NodeSelectorTerm, node: Named): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((expression) => matchesRequirement(expression, node.metadata.labels ?? {})) &&
    matchFields.every((field) => matchesRequirement(field, { "metadata.name": node.metadata.name }))
  );
}

function matchesRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const meaning = operators[operator];
  if (meaning === undefined) return false;
  try {
    return matchesLabels({ requirements: [labelRequirement(key, meaning, values)] }, labels);
  } catch {
    // What validation would refuse matches no node.
    return false;
  }
}

/** Whether the pod's node selector and required node affinity allow the node. */
export function matchesNode(spec: Pick<PodSpec, "nodeSelector" | "affinity">, node: Named): boolean {
  if (spec.nodeSelector && !matchesLabels(labelSelectorFromLabels(spec.nodeSelector), node.metadata.labels)) {
    return false;
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}

/** The only nodes by name that required affinity allows; undefined when it also allows others. */
export function requiredNodeNames(spec: Pick<PodSpec, "affinity">): ReadonlySet<string> | undefined {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (!terms || terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const field = matchFields.find(({ key, operator }) => key === "metadata.name" && operator === "In");
    if (!field) return undefined;
    for (const name of field.values ?? []) names.add(name);
  }
  return names;
}
