/** Facts that policies derive from an observation. */
import { minorOf } from "@keelson/kit";
import type { Member, Template } from "../api/cluster.ts";
import { hex } from "../engine/etcd.ts";
import { majority } from "../engine/quorum.ts";
import { type Diagnosis, diagnose, lacksSpace } from "../engine/termination-message.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";

/** etcd counts a peer as connected after this long, so a restarted member gets as much. */
export const settleMs = 5_000;

export function voters(o: Observed): readonly ObservedMember[] {
  return o.members.filter(({ entry }) => entry !== undefined && !entry.learner);
}

/** By its record: etcd counts it among the voters, as far as anybody knows. */
export function mayVote({ record }: ObservedMember): boolean {
  return record.phase === "Voter" || (record.phase === "Leaving" && !record.removed);
}

/** The number of voters, unknown members included. */
export function voterCount(o: Observed): number {
  return o.list?.members.filter(({ learner }) => !learner).length ?? 0;
}

/** It serves: its pod is ready, it answers, and it knows a leader. */
export function isHealthy({ pod, status }: ObservedMember): boolean {
  return pod?.ready === true && !pod.deleting && status?.leader !== undefined;
}

/**
 * Its vote counts: it serves, or it answers with a leader from a node whose kubelet is silent. What Kubernetes says of its
 * pod is then old: that it is not ready, or is being deleted.
 */
export function isUp(member: ObservedMember): boolean {
  const { status, nodeLostSinceMs } = member;
  return isHealthy(member) || (status?.leader !== undefined && nodeLostSinceMs !== undefined);
}

/** Healthy for long enough that its peers count on it. */
export function isSettled(o: Observed, member: ObservedMember): boolean {
  return isHealthy(member) && unchangedMs(o, member) >= settleMs;
}

/**
 * For how long its pod has been ready, or not. A time far ahead means that the clock was set back: nobody would wait an
 * hour for that.
 */
export function unchangedMs(o: Observed, { pod }: ObservedMember): number {
  const ageMs = o.nowMs - (pod?.readyChangedMs ?? o.nowMs);
  return ageMs < -settleMs ? Number.POSITIVE_INFINITY : ageMs;
}

export function leaderOf(o: Observed): ObservedMember | undefined {
  return o.members.find(({ status }) => status !== undefined && status.leader === status.memberId);
}

/** The leader as any member names it: it may not answer the operator itself. */
export function isLeader(o: Observed, { record }: ObservedMember): boolean {
  return o.members.some(({ status }) => status?.leader !== undefined && hex(status.leader) === record.id);
}

/** Every member votes and serves, and none is being changed: the only state in which a disruption may start. */
export function isStable(o: Observed): boolean {
  return (
    o.list !== undefined &&
    o.unknownMembers.every(({ learner }) => learner) &&
    o.members.every((member) => member.record.phase === "Voter" && isHealthy(member)) &&
    leaderOf(o) !== undefined
  );
}

/** Whether a voter can be removed now: the present voters can commit the removal, and the rest has a majority after it. */
export function canRemove(o: Observed, member: ObservedMember): boolean {
  if (member.entry?.learner) return true;
  const count = voterCount(o);
  const others = voters(o).filter((other) => other !== member && isUp(other)).length;
  const present = others + (isUp(member) ? 1 : 0);
  return count > 1 && present >= majority(count) && others >= majority(count - 1);
}

/**
 * Whether a member needs a pod: those that stay, and one that leaves for as long as its vote may be needed. Without a
 * quorum nobody knows whether etcd still counts it.
 */
export function needsPod(o: Observed, member: ObservedMember): boolean {
  const { phase, id, removed } = member.record;
  if (phase === "Voter" || phase === "Learner") return true;
  if (phase !== "Leaving" || id === undefined || removed) return false;
  return o.list === undefined || (member.entry?.learner === false && !canRemove(o, member));
}

/**
 * Whether a member may be restarted: every other voter has served for a while, so that the operator takes down at most one.
 * A member that certainly does not serve can always be restarted, and so can a learner.
 */
export function canRestart(o: Observed, member: ObservedMember): boolean {
  if (!mayServe(member) || member.entry?.learner) return true;
  const others = voters(o).filter((other) => other !== member && isSettled(o, other));
  return others.length === voterCount(o) - 1;
}

/** Readiness follows seconds later, and an answer may be lost on its way: one of the two is enough. */
export function mayServe({ pod, status }: ObservedMember): boolean {
  return pod?.ready === true || status?.leader !== undefined;
}

/** How many entries it is behind the leader; undefined when either does not answer. */
export function lagOf(o: Observed, member: ObservedMember): number | undefined {
  const leader = leaderOf(o)?.status;
  if (!leader || !member.status) return undefined;
  const lag = leader.raftIndex - member.status.appliedIndex;
  return lag < 0n ? 0 : Number(lag);
}

/** What the termination message of its container means, as long as it has not come back since. */
export function diagnosisOf({ pod, status }: ObservedMember): Diagnosis | undefined {
  return pod === undefined || pod.ready || status !== undefined
    ? undefined
    : diagnose(pod.terminationMessage);
}

/** Why the member's data counts as lost, as a sentence; undefined while it may still be there. */
export function dataLoss(o: Observed, member: ObservedMember): string | undefined {
  const { record, claim } = member;
  if (record.id === undefined) return undefined;
  if (!claim) return "its volume is gone";
  if (record.claimUid !== undefined && claim.uid !== record.claimUid)
    return "its volume was replaced by another";
  if (claim.lost) return "its volume is lost";
  const diagnosis = diagnosisOf(member);
  if (diagnosis === "removed") return "etcd no longer counts it among its members";
  // A member that reached nobody at its first start said the same, and has data since: only the present container counts.
  if (diagnosis === "empty" && member.pod?.runningSinceMs === undefined && startedBefore(member))
    return "its volume is empty";
  // Under an untested template it may be the template that cannot read the data.
  if (diagnosis === "corrupt" && !hasOpened(o, member) && isTested(o, member)) return "its data is corrupt";
  return claim.deleting ? goesWithPod : undefined;
}

const goesWithPod = "its volume is being deleted";

/** Its data is there until its pod ends, and lost with it. */
export function isDoomed(o: Observed, member: ObservedMember): boolean {
  const { pod } = member;
  return pod !== undefined && !pod.ended && !pod.deleting && dataLoss(o, member) === goesWithPod;
}

/** etcd that cannot use its data ends long before that. One that crashes again and again does not come and go by it. */
const openMs = 30_000;

/** It runs with its data, whatever an earlier container said; it may serve nobody for want of a quorum. */
function hasOpened(o: Observed, { pod, progress }: ObservedMember): boolean {
  if (progress !== undefined || pod?.runningSinceMs === undefined) return progress !== undefined;
  const ageMs = o.nowMs - pod.runningSinceMs;
  return ageMs >= openMs || ageMs < -settleMs;
}

/** It ended because its volume is full, and has not come back since. */
export function isFull(o: Observed, member: ObservedMember): boolean {
  return lacksSpace(member.pod?.terminationMessage ?? "") && !hasOpened(o, member);
}

/** Kubernetes says that its pod cannot run, and nothing says that it does. */
export function cannotRun({ pod, status }: ObservedMember): boolean {
  return pod?.obstacle !== undefined && !pod.deleting && !pod.ready && status === undefined;
}

/**
 * Its template is known to work: that of the last rollout, one with the same etcd, or one from which another member
 * serves. One from which there is no way back counts as well: no other template can help the member.
 */
function isTested(o: Observed, member: ObservedMember): boolean {
  const { rollout, template } = o.status;
  const { pod } = member;
  if (!pod) return false;
  return (
    pod.template === template?.hash ||
    (pod.template === rollout?.hash && (isSameEtcd(rollout, template) || !isReversible(o))) ||
    o.members.some((other) => other !== member && other.pod?.template === pod.template && mayServe(other))
  );
}

/** What reads the data is the same: other settings, resources or nodes do not make data unreadable. */
function isSameEtcd(a: Template, b: Template | undefined): boolean {
  return a.recipe.version === b?.recipe.version && a.recipe.image === b.recipe.image;
}

/**
 * Whether there is a way back from the rollout that is under way. Without a quorum nobody says whether the members have
 * agreed on a new minor; they have not before all of them run it.
 */
export function isReversible(o: Observed): boolean {
  const { rollout, template } = o.status;
  if (!rollout || !template) return false;
  return (
    minorOf(rollout.recipe.version) === minorOf(template.recipe.version) ||
    o.members.some(({ record }) => record.phase === "Voter" && record.template !== rollout.hash)
  );
}

/** It does not start because its data is not that of every other member, under a template that is known to work. */
export function isInconsistent(o: Observed, member: ObservedMember): boolean {
  return diagnosisOf(member) === "inconsistent" && isTested(o, member);
}

/** What hashes are compared for, as the comparison's purpose begins. */
export const purposes = { corrupt: "corrupt/", inconsistent: "inconsistent/", rollout: "rollout/" } as const;

/**
 * What hashes of these members are compared for. One that could not be asked may decide which data is that of the majority,
 * so a comparison counts for these alone; by id, since another member may have the same name later.
 */
export function purposeOf(
  kind: keyof typeof purposes,
  about: string,
  members: readonly ObservedMember[],
): string {
  const asked = members.map(({ record }) => record.id).sort();
  return `${purposes[kind]}${about}/${asked.join(",")}`;
}

/** The last comparison, as long as what it was made for lasts: it says nothing about the next time. */
export function comparisonNow(o: Observed): Observed["status"]["comparison"] {
  const { comparison } = o.status;
  const { purpose = "" } = comparison ?? {};
  const isAlarmed = o.alarms.some(({ type }) => type === "CORRUPT");
  const isOver =
    (purpose.startsWith(purposes.corrupt) && !isAlarmed) ||
    (purpose.startsWith(purposes.inconsistent) && !o.members.some((member) => isInconsistent(o, member)));
  return o.list && isOver ? undefined : comparison;
}

/** Its volume was never made, and the spec now asks for another class: nothing is lost by starting over. */
export function wantsOtherClass(o: Observed, { claim }: ObservedMember): boolean {
  return claim !== undefined && !claim.bound && claim.className !== (o.spec.storage.className ?? "");
}

/** What keeps its pod from starting, with the volume that Kubernetes does not name. */
export function obstacleOf({ pod, claim }: ObservedMember): string | undefined {
  if (pod?.obstacle === undefined || !claim || claim.bound) return pod?.obstacle;
  const storage = claim.className === "" ? "the default storage class" : `storage class ${claim.className}`;
  return `no volume of ${storage} is there for it yet (${pod.obstacle})`;
}

/** The node that it runs on; before it runs on one, that of its volume. */
export function nodeOf({ pod, claim }: ObservedMember): string | undefined {
  return pod?.node ?? claim?.selectedNode;
}

/** Their names, each with what keeps it from running. */
export function described(members: readonly ObservedMember[]): string {
  const texts = members.map((member) => {
    const { pod, record, nodeLostSinceMs } = member;
    const lost = nodeLostSinceMs === undefined ? undefined : `its node ${nodeOf(member)} does not answer`;
    const why = pod?.ready ? undefined : (obstacleOf(member) ?? lost);
    return why === undefined ? record.name : `${record.name} (${why})`;
  });
  return texts.join(", ");
}

/** For whom a voter waits that may not restart now, see `canRestart`. */
export function turnOf(o: Observed, member: ObservedMember): string {
  const others = voters(o).filter((other) => other !== member && !isSettled(o, other));
  const whom = others.length === 0 ? "a voter that this operator did not add" : described(others);
  return `${member.record.name} waits for its turn until ${whom} has served for a while`;
}

/** It has run as a member at least once: etcd learns the name at the first start. */
export function startedBefore({ record, entry }: ObservedMember): boolean {
  return record.phase === "Voter" || record.phase === "Leaving" || (entry !== undefined && entry.name !== "");
}

export function withMember(o: Observed, name: string, change: Partial<Member>): Member[] {
  return o.members.map(({ record }) => (record.name === name ? { ...record, ...change } : record));
}

export function withoutMember(o: Observed, name: string): Member[] {
  return o.members.flatMap(({ record }) => (record.name === name ? [] : [record]));
}

/** The template that a record asks for. */
export function templateFor(o: Observed, record: Member): Template | undefined {
  const { template, rollout } = o.status;
  return record.template !== undefined && record.template === rollout?.hash ? rollout : template;
}

export function namesOf(members: readonly ObservedMember[]): string {
  return members.map(({ record }) => record.name).join(", ");
}
