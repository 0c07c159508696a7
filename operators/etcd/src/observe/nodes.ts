/** Which nodes are lost, and which are about to be. */
import { type ObjectOf, Quantity } from "keelson";
import type { Node } from "keelson/kinds";
import type { ClaimView, PodView } from "./observed.ts";
import { parseTime } from "./time.ts";

export interface NodeView {
  /** It has not reported since then. */
  readonly lostSinceMs: number | undefined;
  /** It is about to be drained or rebooted. */
  readonly cordoned: boolean;
}

export function nodeViews(nodes: readonly ObjectOf<typeof Node>[]): ReadonlyMap<string, NodeView> {
  return new Map(nodes.map((node) => [node.metadata.name, nodeView(node)]));
}

function nodeView({ spec, status }: ObjectOf<typeof Node>): NodeView {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const lost = ready !== undefined && ready.status !== "True";
  return {
    lostSinceMs: lost ? parseTime(ready.lastTransitionTime) : undefined,
    cordoned: spec?.unschedulable === true,
  };
}

/**
 * Since when the node is lost that a member needs. A pod that no node takes needs the one for which its volume was made:
 * a local volume is there alone. Nobody says when a node was deleted; the pod has not been ready for longer than that.
 */
export function nodeLostSince(
  nodes: ReadonlyMap<string, NodeView>,
  { pod, claim }: { readonly pod: PodView | undefined; readonly claim: ClaimView | undefined },
): number | undefined {
  if (!pod) return undefined;
  const name = pod.node ?? (isTiedToNode(pod) ? claim?.selectedNode : undefined);
  if (name === undefined) return undefined;
  const node = nodes.get(name);
  if (!node) return pod.readyChangedMs;
  // A pod that was just made is given time to find another node.
  return pod.node !== undefined || node.lostSinceMs === undefined
    ? node.lostSinceMs
    : Math.max(node.lostSinceMs, pod.createdMs);
}

/** What older and newer schedulers say of nodes that a volume cannot be reached from. */
const refusesVolume = /volume node affinity conflict|PersistentVolume's node affinity/;

/** No node takes it because of its volume. Any other cause would keep another member from running, too. */
function isTiedToNode({ obstacle = "" }: PodView): boolean {
  return refusesVolume.test(obstacle);
}

/** The most of each resource that any one node offers; undefined while no node is known. */
export function largestNode(
  nodes: readonly ObjectOf<typeof Node>[],
): { readonly cpu: string; readonly memory: string } | undefined {
  const most = (resource: string) =>
    nodes
      .map(({ status }) => Quantity.from(status?.allocatable?.[resource] ?? "0"))
      .reduce((largest, each) => (each.compare(largest) > 0 ? each : largest), Quantity.from("0"))
      .toString();
  return nodes.length === 0 ? undefined : { cpu: most("cpu"), memory: most("memory") };
}
