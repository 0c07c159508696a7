/** Which nodes are lost, and which are about to be. */
import { type ObjectOf, Quantity } from "keelson";
import type { Node } from "keelson/kinds";
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
