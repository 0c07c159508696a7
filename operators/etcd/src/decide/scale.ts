/** As many voters as the spec asks for, one more or one less at a time. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import { memberName, ordinalOf } from "../resources/names.ts";
import type { Decision } from "./decision.ts";
import { canRemove, isHealthy, isLeader } from "./facts.ts";
import { leave } from "./leaving.ts";

export function scale(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  const here = o.members.length;
  const { size } = o.spec;
  if (here < size) return grow(o, size);
  if (here > size) return shrink(o);
  return undefined;
}

/**
 * A rollout does not go on with fewer members than the spec asks for: with one of three gone, every restart would cost the
 * quorum.
 */
export function missingMember(o: Observed): Decision | undefined {
  const { size } = o.spec;
  return o.list && o.status.rollout && o.members.length < size ? grow(o, size) : undefined;
}

/** One more, on the way to this many. During a rollout it has what is rolled out: it may be too late for anything older. */
export function grow(o: Observed, size: number): Decision {
  const ordinal = o.status.nextMember ?? 0;
  const name = memberName(o.cluster, ordinal);
  const { rollout } = o.status;
  const template = (rollout && rollout.rollback === undefined ? rollout : o.status.template)?.hash;
  const record = { name, phase: "Joining" as const, ...(template === undefined ? {} : { template }) };
  return {
    do: "record",
    status: { members: [...o.members.map((member) => member.record), record], nextMember: ordinal + 1 },
    reason: reasons.growing,
    message: `${name} will join: ${o.members.length} of ${size} members`,
  };
}

function shrink(o: Observed): Decision {
  const leaver = memberToRemove(o);
  if (!leaver || !canRemove(o, leaver)) {
    return {
      do: "wait",
      reason: reasons.shrinking,
      message: "no member can leave without costing the others their majority",
    };
  }
  return leave(o, leaver, `the cluster shrinks to ${o.spec.size}`, reasons.shrinking);
}

/** Which member leaves first: one that does not vote, one that does not serve, the newest; the leader last. */
function memberToRemove(o: Observed): ObservedMember | undefined {
  const rank = (member: ObservedMember) => [
    member.record.phase === "Voter" ? 1 : 0,
    isLeader(o, member) ? 1 : 0,
    isHealthy(member) ? 1 : 0,
    member.nodeCordoned ? 0 : 1,
    -(ordinalOf(o.cluster, member.record.name) ?? 0),
  ];
  return [...o.members].sort((a, b) => compare(rank(a), rank(b)))[0];
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
