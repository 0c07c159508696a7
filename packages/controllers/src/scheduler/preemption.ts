/** What pods of lower priority could do for a pod that fits nowhere: leave. Pure. */
import { compareBytes } from "@keelson/core/internal";
import type { PodObject } from "@keelson/workloads";
import { type Decision, firstReason, histogram } from "./decide.ts";
import { type Rejection, rejected } from "./view/filter-plugin.ts";
import type { NodeInfo } from "./view/node-info.ts";
import type { Snapshot } from "./view/snapshot.ts";

const noHelp = rejected(false, "Preemption is not helpful for scheduling");
const noVictims = rejected(false, "No preemption victims found for incoming pod");

/** Devices could be given back before pods are sent away; there are none here. */
const noClaims = "no new claims to deallocate, ";

/** Whether evicting the pod breaks a budget. */
export type IsProtected = (pod: PodObject) => boolean;

export interface Sacrifice {
  readonly node: NodeInfo;
  /** The most important first. */
  readonly victims: readonly PodObject[];
  readonly violations: number;
}

export type Preemption =
  | { readonly sacrifice: Sacrifice }
  /** Why it would not help, as the end of the sentence that says why no node will do. */
  | { readonly message: string };

export function preempt(
  pod: PodObject,
  { rejections }: Exclude<Decision, { node: unknown }>,
  snapshot: Snapshot,
  isProtected: IsProtected,
): Preemption {
  const ineligible = whyNot(pod, rejections, snapshot);
  if (ineligible !== undefined) return { message: `${noClaims}preemption: ${ineligible}` };
  const results: Rejection[] = [];
  const candidates: Sacrifice[] = [];
  for (const [info, rejection] of rejections) {
    const found = rejection.resolvable ? victimsOn(pod, info, snapshot, isProtected) : noHelp;
    if ("victims" in found) candidates.push(found);
    else results.push(found);
  }
  const [best] = candidates.sort(bySacrifice);
  if (best) return { sacrifice: best };
  const all = snapshot.nodes.length;
  return { message: `${noClaims}preemption: 0/${all} nodes are available: ${histogram(results)}.` };
}

function whyNot(
  pod: PodObject,
  rejections: ReadonlyMap<NodeInfo, Rejection>,
  { nodes }: Snapshot,
): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = nodes.find(({ name }) => name === pod.status?.nominatedNodeName);
  // What was sacrificed for it is still on its way out.
  const isAwaited =
    nominated &&
    rejections.get(nominated)?.resolvable !== false &&
    nominated.pods.some(
      ({ pod: other }) => isLess(other, pod) && other.metadata.deletionTimestamp !== undefined,
    );
  return isAwaited ? "not eligible due to a terminating pod on the nominated node." : undefined;
}

function priorityOf({ spec }: PodObject): number {
  return spec.priority ?? 0;
}

function isLess(a: PodObject, b: PodObject): boolean {
  return priorityOf(a) < priorityOf(b);
}

/** The most important first: by priority, then by how long it has run. */
function byImportance(a: PodObject, b: PodObject): number {
  return priorityOf(b) - priorityOf(a) || compareBytes(startOf(a), startOf(b));
}

function startOf({ status, metadata }: PodObject): string {
  return status?.startTime ?? metadata.creationTimestamp;
}

/** The fewest pods of the node whose leaving makes room, or why no leaving would. */
function victimsOn(
  pod: PodObject,
  info: NodeInfo,
  snapshot: Snapshot,
  isProtected: IsProtected,
): Sacrifice | Rejection {
  const lower = info.pods.map(({ pod: other }) => other).filter((other) => isLess(other, pod));
  if (lower.length === 0) return noVictims;
  const gone = new Set(lower);
  const rejectionNow = () => {
    const without = info.without(gone);
    return firstReason(pod, snapshot.with(without), without);
  };
  const rejection = rejectionNow();
  if (rejection) return rejection;
  const victims: PodObject[] = [];
  let violations = 0;
  const ranked = lower.toSorted(byImportance);
  // Those that a budget protects get the first chance to stay.
  for (const other of [...ranked.filter(isProtected), ...ranked.filter((each) => !isProtected(each))]) {
    gone.delete(other);
    if (!rejectionNow()) continue;
    gone.add(other);
    victims.push(other);
    violations += Number(isProtected(other));
  }
  return { node: info, victims: victims.sort(byImportance), violations };
}

/** The smaller loss first. */
function bySacrifice(a: Sacrifice, b: Sacrifice): number {
  const highest = ({ victims }: Sacrifice) => Math.max(...victims.map(priorityOf));
  const sum = ({ victims }: Sacrifice) =>
    victims.reduce((total, each) => total + priorityOf(each) + 2 ** 31, 0);
  const earliest = (each: Sacrifice) =>
    each.victims
      .filter((victim) => priorityOf(victim) === highest(each))
      .map(startOf)
      .sort(compareBytes)[0] ?? "";
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    sum(a) - sum(b) ||
    a.victims.length - b.victims.length ||
    compareBytes(earliest(b), earliest(a)) ||
    compareBytes(a.node.name, b.node.name)
  );
}
