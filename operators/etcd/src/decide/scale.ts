/** As many voters as the spec asks for, one more or one less at a time. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import { memberName, ordinalOf } from "../resources/names.ts";
import type { Decision } from "./decision.ts";
import { canRemove, isHealthy, isLeader, namesOf, voters } from "./facts.ts";
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
 * quorum. It does when only the rollout gives the members an authority that another can join with. Nor does one begin, or
 * any other change, beside a voter whose kubelet is silent.
 */
export function missingMember(o: Observed): Decision | undefined {
  const { size } = o.spec;
  if (!o.list || o.members.length >= size || !newcomer(o)) return undefined;
  if (!o.status.rollout && voters(o).every(isHealthy)) return undefined;
  return grow(o, size);
}

/** One more, on the way to this many. During a rollout it has what is rolled out: it may be too late for anything older. */
export function grow(o: Observed, size: number): Decision {
  const next = newcomer(o);
  if (!next) {
    const message = `the key of the authority for peers was deleted; another member joins when ${namesOf(o.members)} trust the next authority`;
    return { do: "wait", reason: reasons.growing, message };
  }
  const { name, nextMember } = next;
  const { rollout } = o.status;
  const template = (rollout && rollout.rollback === undefined ? rollout : o.status.template)?.hash;
  const record = { name, phase: "Joining" as const, ...(template === undefined ? {} : { template }) };
  return {
    do: "record",
    status: { members: [...o.members.map((member) => member.record), record], nextMember },
    reason: reasons.growing,
    message: `${name} will join: ${o.members.length} of ${size} members`,
  };
}

/**
 * Who can join: one with a new number. When the authority for peers was deleted, one that has left and whose certificate is
 * still there, since those who run would not trust a new one; undefined when there is none. Its volume must have gone with
 * it: what a recovery has set aside is kept, and no member starts from it.
 */
export function newcomer({ cluster, status, members, spareClaims, certificates: { peer } }: Observed) {
  const { nextMember = 0 } = status;
  if (!peer?.holders) return { name: memberName(cluster, nextMember), nextMember: nextMember + 1 };
  const taken = [...members.map(({ record }) => record.name), ...spareClaims];
  const name = peer.holders.find((each) => !taken.includes(each));
  return name === undefined ? undefined : { name, nextMember };
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
