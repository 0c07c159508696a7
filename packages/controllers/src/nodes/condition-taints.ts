/** Taints that follow from a node's conditions: they keep pods away, or drive them out. */
import { formatTime } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { Taint } from "@keelson/core/kinds";
import type { NodeObject } from "@keelson/workloads";
import { readyOf } from "./node-health.ts";

const prefix = "node.kubernetes.io";
export const notReadyTaint = `${prefix}/not-ready`;
export const unreachableTaint = `${prefix}/unreachable`;
const cordonTaint = `${prefix}/unschedulable`;

const byCondition: Readonly<Record<string, Readonly<Record<string, string>>>> = lookupTable({
  Ready: lookupTable<string>({ False: notReadyTaint, Unknown: unreachableTaint }),
  MemoryPressure: lookupTable<string>({ True: `${prefix}/memory-pressure` }),
  DiskPressure: lookupTable<string>({ True: `${prefix}/disk-pressure` }),
  NetworkUnavailable: lookupTable<string>({ True: `${prefix}/network-unavailable` }),
  PIDPressure: lookupTable<string>({ True: `${prefix}/pid-pressure` }),
});

const ours = new Set([...Object.values(byCondition).flatMap((keys) => Object.values(keys)), cordonTaint]);

function isOurs({ key, effect }: Taint): boolean {
  if (effect === "NoSchedule") return ours.has(key);
  return effect === "NoExecute" && (key === notReadyTaint || key === unreachableTaint);
}

/**
 * The taints that the node should have; the very same list when it has them. `evicts` is off while no node at all is
 * ready: then it is rather us who cannot see, and pods stay where they are.
 */
export function conditionTaints(node: NodeObject, evicts: boolean, nowMs: number): readonly Taint[] {
  const current = node.spec.taints ?? [];
  const wanted: Taint[] = [];
  for (const { type, status } of node.status?.conditions ?? []) {
    const key = byCondition[type]?.[status];
    if (key !== undefined) wanted.push({ key, effect: "NoSchedule" });
  }
  if (node.spec.unschedulable) wanted.push({ key: cordonTaint, effect: "NoSchedule" });
  const ready = readyOf(node)?.status;
  if (evicts && ready === "False") wanted.push({ key: notReadyTaint, effect: "NoExecute" });
  if (evicts && ready === "Unknown") wanted.push({ key: unreachableTaint, effect: "NoExecute" });
  const has = (taints: readonly Taint[], { key, effect }: Taint) =>
    taints.some((each) => each.key === key && each.effect === effect);
  const kept = current.filter((taint) => !isOurs(taint) || has(wanted, taint));
  const added = wanted
    .filter((taint) => !has(current, taint))
    .map((taint) => ({ ...taint, timeAdded: formatTime(nowMs) }));
  return added.length === 0 && kept.length === current.length ? current : [...kept, ...added];
}
