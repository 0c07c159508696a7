/** Which nodes are lost, and which are about to be. */
import type { ObjectOf } from "keelson";
import type { Node } from "keelson/kinds";
import { parseTime } from "./time.ts";

export interface NodeView {
  /** It has not reported since then. */
  readonly lostSinceMs: number | undefined;
  /** Cordoned: whoever maintains it is about to drain or reboot it. */
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
