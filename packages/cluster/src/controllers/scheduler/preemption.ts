/** What pods of lower priority could do for a pod that fits nowhere. */
import type { PodObject } from "../pods/pod-state.ts";
import { type Decision, histogram } from "./decide.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Rejection, rejected } from "./verdict.ts";

const noHelp = rejected(false, "Preemption is not helpful for scheduling");
const noVictims = rejected(false, "No preemption victims found for incoming pod");

/** The whole sentence: why no node will do, and why none will do with pods gone either. */
export function preemptionMessage(
  pod: PodObject,
  decision: Exclude<Decision, { node: unknown }>,
  snapshot: Snapshot,
): string {
  if (snapshot.nodes.length === 0) return decision.message;
  if (pod.spec.preemptionPolicy === "Never") {
    return `${decision.message} preemption: not eligible due to preemptionPolicy=Never.`;
  }
  const verdicts: Rejection[] = [...decision.rejections.values()].map(({ resolvable }) =>
    resolvable ? noVictims : noHelp,
  );
  const all = snapshot.nodes.length;
  return `${decision.message} preemption: 0/${all} nodes are available: ${histogram(verdicts)}.`;
}
