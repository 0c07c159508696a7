/** A member that joins: recorded, added as a learner, started, caught up, promoted. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { isUp, lagOf, leaderOf, obstacleOf, voters, wantsOtherClass } from "./facts.ts";
import { leave } from "./leaving.ts";

const reason = reasons.growing;

/** etcd itself promotes at nine tenths of the leader's log, which may still be a million entries behind. */
const promotableLag = 500;
export function joining(o: Observed): Decision | undefined {
  return joinUpTo(o, o.spec.size);
}

/** As long as there are not more members than this. */
export function joinUpTo(o: Observed, size: number): Decision | undefined {
  if (!o.list) return undefined;
  const member = o.members.find(({ record }) => record.phase === "Joining" || record.phase === "Learner");
  if (!member) return undefined;
  if (o.members.length > size) return leave(o, member, `the cluster shrinks to ${size}`, reasons.shrinking);
  if (o.certificates.peer?.holders?.includes(member.record.name) === false)
    return leave(o, member, "it has no certificate that the others trust", reason);
  return member.record.phase === "Joining" ? beforeEtcd(o, member) : asLearner(o, member);
}

/** Nobody joins beside voters that do not serve, or data that may be corrupt. */
export function canJoin(o: Observed): boolean {
  return voters(o).every(isUp) && o.alarms.every(({ type }) => type !== "CORRUPT");
}

function beforeEtcd(o: Observed, member: ObservedMember): Decision {
  const { record, claim } = member;
  const { name } = record;
  const wait = (message: string): Decision => ({ do: "wait", reason, message });
  if (claim?.deleting) return wait(`the volume of ${name} is being deleted`);
  if (!claim) return { do: "createClaim", member: name, reason, message: `${name} gets its volume` };
  const leader = leaderOf(o);
  if (!leader) return wait(`${name} waits for a leader`);
  if (!voters(o).every(isUp)) return wait(`${name} waits until every voter serves`);
  if (!canJoin(o)) return wait(`${name} waits: a member's data may be corrupt`);
  return {
    do: "addLearner",
    member: name,
    via: leader.record.name,
    reason,
    message: `${name} joins as a learner`,
  };
}

function asLearner(o: Observed, member: ObservedMember): Decision {
  const { record, pod, entry, status } = member;
  const { name } = record;
  const leader = leaderOf(o);
  const lag = lagOf(o, member);
  if (!pod || pod.deleting) return { do: "wait", reason, message: `${name} is starting`, recheckMs: 500 };
  if (!status && wantsOtherClass(o, member)) return leave(o, member, "its volume was never made", reason);
  if (!status && o.nowMs - pod.createdMs >= o.spec.timeouts.startSeconds * 1_000) {
    return leave(
      o,
      member,
      `it has not answered for ${o.spec.timeouts.startSeconds} s${pod.obstacle ? ` (${pod.obstacle})` : ""}`,
      reason,
    );
  }
  const near = lag !== undefined && lag <= promotableLag && isInSync(leader, member);
  // Twice in a row: while a snapshot is being applied, the first number means nothing.
  const nearBefore = record.lag !== undefined && record.lag <= promotableLag;
  if (near && nearBefore && leader && entry && voters(o).every(isUp)) {
    return {
      do: "promote",
      member: name,
      id: entry.id,
      via: leader.record.name,
      reason,
      message: `${name} has caught up and becomes a voter`,
    };
  }
  const distance = lag === undefined ? "" : ` (${lag} entries behind)`;
  const obstacle = obstacleOf(member);
  const why = obstacle === undefined ? "is catching up" : `cannot start: ${obstacle}`;
  return { do: "wait", reason, message: `${name} ${why}${near ? "" : distance}`, recheckMs: 500 };
}

/** etcd's own condition; a promotion before it holds would be refused. */
function isInSync(leader: ObservedMember | undefined, { status }: ObservedMember): boolean {
  if (!leader?.status || !status) return false;
  return status.appliedIndex * 10n >= leader.status.raftIndex * 9n;
}
