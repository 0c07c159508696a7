/** An application as a drill sees it: whether it is well, and which pods it has. Pure. */
import type { ObjectOf } from "@keelson/core";
import { formatLabelSelector, labelSelectorFrom } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";

type PodObject = ObjectOf<typeof Pod>;

/** What every kind has that a drill asks for. */
export interface Target {
  readonly metadata: { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly spec?: unknown;
  readonly status?: unknown;
}

interface Conditioned {
  readonly observedGeneration?: number;
  readonly selector?: unknown;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly message?: string;
  }[];
}

/**
 * The label selector of its pods: `status.selector` as the scale subresource has it, or `spec.selector` as workloads
 * have it. Undefined when it has none yet.
 */
export function selectorOf({ spec, status }: Target): string | undefined {
  const said = (status as Conditioned | undefined)?.selector;
  if (typeof said === "string" && said !== "") return said;
  const selector = (spec as { selector?: { matchLabels?: Record<string, string> } } | undefined)?.selector;
  return selector?.matchLabels ? formatLabelSelector(labelSelectorFrom(selector)) : undefined;
}

/**
 * What keeps the application from being well, or undefined when it is: it has noticed its spec, is `Ready` and
 * `Available` where it has such conditions, is not `Degraded`, and every pod is ready.
 */
export function trouble(target: Target | undefined, pods: readonly PodObject[]): string | undefined {
  if (!target) return "it does not exist";
  if (target.metadata.deletionTimestamp !== undefined) return "it is being deleted";
  const { observedGeneration, conditions = [] } = (target.status ?? {}) as Conditioned;
  if (observedGeneration !== undefined && observedGeneration < (target.metadata.generation ?? 0))
    return "its spec has changed and was not noticed yet";
  for (const { type, status, message = "" } of conditions) {
    const is = type === "Degraded" ? status === "True" : isWanted(type) && status !== "True";
    if (is) return `${type} is ${status}${message === "" ? "" : `: ${message}`}`;
  }
  const wanted = wantedPods(target);
  if (pods.length === 0) return "it has no pods";
  if (wanted !== undefined && pods.length < wanted) return `it has ${pods.length} of ${wanted} pods`;
  const unready = pods.find((pod) => !isReady(pod));
  return unready && `pod ${unready.metadata.name} is not ready`;
}

function isWanted(type: string): boolean {
  return type === "Ready" || type === "Available";
}

/** Of workloads. Custom resources count in their own ways and say by their conditions what is missing. */
function wantedPods({ spec }: Target): number | undefined {
  const { replicas, selector } = (spec ?? {}) as { replicas?: number; selector?: unknown };
  return typeof selector === "object" ? replicas : undefined;
}

function isReady({ metadata, status }: PodObject): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return metadata.deletionTimestamp === undefined && ready?.status === "True";
}

/** How often the containers of a pod were restarted. */
export function restartsOf({ status }: PodObject): number {
  return (status?.containerStatuses ?? []).reduce((total, { restartCount }) => total + restartCount, 0);
}
