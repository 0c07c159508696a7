/** A member that leaves: first from etcd, then its pod, last its volume. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { canRemove, isLeader, isUp, leaderOf, withMember, withoutMember } from "./facts.ts";
import { passLeadership } from "./pods.ts";

const reason = reasons.shrinking;

export function leaving(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  for (const member of leavers(o)) {
    const decision = member.entry ? fromEtcd(o, member) : fromKubernetes(o, member);
    if (decision) return decision;
  }
  return undefined;
}

/** It cannot leave because others do not serve. Whatever helps them comes before this wait: they may be lost for good. */
export function staying(o: Observed): Decision | undefined {
  const [member] = leavers(o);
  if (!member || !o.list) return undefined;
  const message = `${member.record.name} stays for now: without it the others would have no majority`;
  return { do: "wait", reason, message };
}

function leavers(o: Observed): readonly ObservedMember[] {
  return o.members.filter(({ record }) => record.phase === "Leaving");
}

/** Undefined when it has to stay for now. */
function fromEtcd(o: Observed, member: ObservedMember): Decision | undefined {
  const { name, message: because = "" } = member.record;
  const via = contactFor(o, member);
  if (!canRemove(o, member) || via === undefined || !member.entry) return undefined;
  // As long as it leads and answers, whatever becomes of its pod.
  const handover = passLeadership(o, member, reason);
  if (handover) return handover;
  // A leader that does not answer the operator cannot be told to hand over. Its end, or the others, make another one.
  if (isLeader(o, member)) {
    const message = `${name} stays until another member leads: it does not answer the operator`;
    return { do: "wait", reason, message, recheckMs: 500 };
  }
  const id = member.entry.id;
  return { do: "removeMember", member: name, id, via, reason, message: `${name} leaves etcd: ${because}` };
}

function fromKubernetes(o: Observed, member: ObservedMember): Decision {
  const { pod, claim, record } = member;
  const { name } = record;
  const nodeLost = member.nodeLostSinceMs !== undefined;
  if (pod && (!pod.deleting || nodeLost)) {
    // Removed from etcd the member can never come back: its node need not confirm that it is gone.
    const now = nodeLost ? { now: true } : {};
    return {
      do: "deletePods",
      members: [name],
      ...now,
      reason,
      message: `${name} has left etcd; its pod ends`,
    };
  }
  if (pod) return { do: "wait", reason, message: `${name} is stopping` };
  if (claim && !claim.deleting) {
    return { do: "deleteClaim", member: name, reason, message: `${name} has left; its volume is deleted` };
  }
  const members = withoutMember(o, name);
  return { do: "record", status: { members }, reason, message: `${name} has left` };
}

/** The member to send a change of membership to: the leader, or another one when the leader itself leaves. */
export function contactFor(o: Observed, member?: ObservedMember): string | undefined {
  const leader = leaderOf(o);
  if (leader && leader !== member) return leader.record.name;
  return o.members.find((other) => other !== member && isUp(other))?.record.name;
}

/** Records that a member will leave, and why. */
export function leave(
  o: Observed,
  member: ObservedMember,
  because: string,
  why: Decision["reason"],
): Decision {
  const { name } = member.record;
  return {
    do: "record",
    status: { members: withMember(o, name, { phase: "Leaving", message: because }) },
    reason: why,
    message: `${name} will leave: ${because}`,
  };
}
