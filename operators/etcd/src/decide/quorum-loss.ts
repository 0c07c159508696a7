/** No quorum: waiting while a majority has its data, otherwise a recovery that the user approves. */
import { reasons } from "../api/conditions.ts";
import { hex, type MemberProgress } from "../engine/etcd.ts";
import { majority } from "../engine/quorum.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { dataLoss, described, isDoomed, isReversible, mayVote, namesOf, templateFor } from "./facts.ts";
import { endedPods } from "./pods.ts";

/** The revision of a survivor that does not answer. */
const unknown = "unknown";
/** Long enough to tell an election or a restart from a loss. */
const graceMs = 30_000;
export function quorumLoss(o: Observed): Decision | undefined {
  if (o.list || o.status.clusterId === undefined) return undefined;
  const counted = o.members.filter((member) => mayVote(member) && !isLearner(member));
  const lost = counted.filter((member) => dataLoss(o, member) !== undefined);
  const survivors = counted.filter((member) => !lost.includes(member));
  // They can vote as long as their pods run, and are replaced when there is a quorum.
  const doomed = lost.filter((member) => isDoomed(o, member));
  const strangers = o.unknownMembers.filter(({ learner }) => !learner);
  if (survivors.length + doomed.length >= majority(counted.length + strangers.length))
    return transient([...survivors, ...doomed]);
  const losses = [
    ...lost.map((member) => `${member.record.name}: ${dataLoss(o, member)}`),
    ...strangers.map(
      ({ id, peerUrls }) =>
        `${hex(id)}: nobody knows the member${peerUrls.map((url) => ` at ${url}`).join(",")}`,
    ),
  ].join("; ");
  if (survivors.length === 0) {
    const learners = o.members.filter((member) => isLearner(member) && dataLoss(o, member) === undefined);
    const left = learners.length + doomed.length === 0 ? "no data is left" : "no voter keeps its data";
    // etcd cannot be forced to go on from these; what they have can only be saved by hand.
    const copies = [
      ...(learners.length === 0 ? [] : [`; the learner ${namesOf(learners)} may have a part of it`]),
      ...(doomed.length === 0 ? [] : [`; ${namesOf(doomed)} has it until its pod ends`]),
    ].join("");
    const message = `${left} (${losses || "no claim of a member is there"}); make a new cluster with spec.restoreFrom${copies}`;
    return { do: "refuse", reason: reasons.allDataLost, message };
  }
  return permanent(o, survivors, losses);
}

/** A record may call it a voter that was made from a claim alone: then its own word counts. */
function isLearner({ record, status, progress }: ObservedMember): boolean {
  return record.phase === "Learner" || (status ?? progress)?.learner === true;
}

/** A majority still has its data: quorum will return by itself. Membership is not touched. */
function transient(survivors: readonly ObservedMember[]): Decision {
  const ready = survivors.filter(({ pod }) => pod?.ready && !pod.deleting);
  if (ready.length >= majority(survivors.length) && survivors.every(({ status }) => status === undefined)) {
    return {
      do: "wait",
      reason: reasons.unreachable,
      message: `Kubernetes reports ${namesOf(ready)} ready, but no member answers the operator; check what is between the operator and port 2379 of these pods`,
      recheckMs: 1_000,
    };
  }
  const silent = survivors.filter(({ status }) => status === undefined);
  const who =
    silent.length > 0 ? `${described(silent)} to answer` : `${namesOf(survivors)} to elect a leader`;
  // Only a person knows whether a node comes back: until then its volume counts as there.
  const away = silent.filter(({ nodeLostSinceMs }) => nodeLostSinceMs !== undefined);
  const advice =
    away.length === 0
      ? ""
      : `; if a node never comes back, delete the claim and the pod of its member (${namesOf(away)}) to continue without it`;
  return { do: "wait", reason: reasons.noQuorum, message: `waiting for ${who}${advice}`, recheckMs: 500 };
}

function permanent(o: Observed, survivors: readonly ObservedMember[], losses: string): Decision {
  const reason = reasons.quorumLost;
  const sinceMs = o.nowMs - (o.unavailableSinceMs ?? o.nowMs);
  const allAnswer = survivors.every((member) => progressOf(member) !== undefined);
  if (sinceMs < graceMs || (!allAnswer && sinceMs < o.spec.timeouts.survivorSeconds * 1_000)) {
    return {
      do: "wait",
      reason,
      message: `a majority is lost (${losses}); ${namesOf(survivors)} is asked`,
      recheckMs: 1_000,
    };
  }
  // One that does not answer is no worse than none to compare it with.
  const best = bestOf(survivors) ?? (survivors.length === 1 ? survivors[0] : undefined);
  if (!best)
    return {
      do: "wait",
      reason,
      message: `a majority is lost (${losses}), and ${namesOf(survivors)} does not answer`,
    };
  const proposal = proposalFor(o, best, losses);
  const { recovery } = o.status;
  const known = recovery?.survivor === proposal.survivor && recovery.revision === proposal.revision;
  if (!known) {
    return {
      do: "record",
      status: { recovery: { ...proposal, phase: "Proposed" } },
      event: `quorum is lost; ${proposal.survivor} could be recovered from: ${proposal.lost}`,
      reason,
      message: `${proposal.survivor} is the best survivor`,
    };
  }
  // Members that nobody knows are known from one member's word alone: then a person decides.
  const isAutomatic = o.spec.recovery.quorumLoss === "Automatic" && o.unknownMembers.length === 0;
  const approval = approvalOf(o, recovery);
  if (isAutomatic || o.approved === approval) {
    return {
      do: "record",
      status: { recovery: { ...recovery, phase: "Stopping" } },
      event: `recovery from ${recovery.survivor} starts: ${recovery.lost}`,
      reason: reasons.recovering,
      message: `recovery from ${recovery.survivor} starts`,
    };
  }
  const message =
    `${losses}. ${recovery.lost}. To recover from ${recovery.survivor}, annotate the cluster with ` +
    `etcd.keelson.dev/approve-recovery=${approval}`;
  return { do: "wait", reason, message, recheckMs: 10_000 };
}

/** It holds for this loss alone: what was approved once says nothing about the next one, which may cost more. */
function approvalOf(
  o: Observed,
  { survivor, revision }: { readonly survivor: string; readonly revision: string },
) {
  return `${survivor}@${revision === unknown ? `${unknown}-${o.status.lastKnownRevision ?? 0}` : revision}`;
}

/**
 * The one that knows of most that was committed: forcing a new cluster drops the rest of a log, and of what was committed
 * one member has what another has or more. Terms say nothing about it: a member that votes has a new one before it has
 * any entry of it.
 */
function bestOf(survivors: readonly ObservedMember[]): ObservedMember | undefined {
  const able = survivors.flatMap((member) => {
    const progress = progressOf(member);
    return progress && !progress.learner ? [{ member, progress }] : [];
  });
  able.sort(
    ({ progress: a }, { progress: b }) => Number(b.index - a.index) || Number(b.revision - a.revision),
  );
  return able[0]?.member;
}

/** One that restarted without a quorum tells its status to nobody, only its metrics. */
function progressOf({ status, progress }: ObservedMember): MemberProgress | undefined {
  return status ? { ...status, index: status.raftIndex, peers: [] } : progress;
}

function proposalFor(o: Observed, member: ObservedMember, losses: string) {
  const { record } = member;
  const progress = progressOf(member);
  const others = `what was acknowledged since by ${losses.replaceAll(/: [^;]*/g, "")}`;
  if (!progress) {
    const lost = `it does not answer, so nobody knows what it has; lost would be what it lacks, and ${others}`;
    return { survivor: record.name, revision: unknown, lost };
  }
  const { revision } = progress;
  const last = BigInt(o.status.lastKnownRevision ?? 0);
  const behind =
    last > revision
      ? `at least ${last - revision} revisions that were seen before`
      : "nothing that was seen before";
  const at = o.status.lastKnownAt === undefined ? "" : ` (revision ${last} at ${o.status.lastKnownAt})`;
  return {
    survivor: record.name,
    revision: revision.toString(),
    lost: `it has revision ${revision}: ${behind}${at} would be lost, and ${others}`,
  };
}

/** The recovery: all members stop, the survivor drops the others and restarts as usual, and the cluster grows again. */
export function recovering(o: Observed): Decision | undefined {
  const { recovery } = o.status;
  if (!recovery || recovery.phase === "Proposed") return undefined;
  const survivor = o.members.find(({ record }) => record.name === recovery.survivor);
  if (!survivor) {
    return {
      do: "refuse",
      reason: reasons.allDataLost,
      message: `the survivor ${recovery.survivor} is gone`,
    };
  }
  const loss = dataLoss(o, survivor);
  // Once it runs alone, it can be replaced while it serves.
  const isReplaceable = recovery.phase !== "Stopping" && isDoomed(o, survivor);
  if (loss !== undefined && !isReplaceable) return withoutSurvivor(o, recovery, loss);
  if (recovery.phase === "Stopping") return stopAll(o, survivor, recovery);
  const ended = endedPods(o);
  if (ended) return ended;
  switch (recovery.phase) {
    case "Forcing":
      return force(o, survivor, recovery);
    case "Restarting":
      return restartAsUsual(o, survivor, recovery);
  }
}

type Recovery = NonNullable<Observed["status"]["recovery"]>;
const reason = reasons.recovering;

/** Before anything was set aside another survivor can be proposed; after that there is none. */
function withoutSurvivor(o: Observed, { survivor, phase }: Recovery, loss: string): Decision {
  const isOpen = phase === "Stopping" && o.members.every(({ claim }) => !claim?.fenced);
  const message = `the survivor ${survivor} is lost: ${loss}`;
  if (isOpen) return { do: "record", status: { recovery: undefined }, reason, message };
  const kept = "the volumes that were set aside are kept";
  return {
    do: "refuse",
    reason: reasons.allDataLost,
    message: `no data is left (${message}; ${kept}); make a new cluster with spec.restoreFrom`,
  };
}

function stopAll(o: Observed, survivor: ObservedMember, recovery: Recovery): Decision {
  const running = o.members.filter(
    ({ pod, nodeLostSinceMs }) => pod && (!pod.deleting || nodeLostSinceMs !== undefined),
  );
  if (running.length > 0) {
    const members = running.map(({ record }) => record.name);
    const now = running.every(({ nodeLostSinceMs }) => nodeLostSinceMs !== undefined) ? { now: true } : {};
    return {
      do: "deletePods",
      members,
      ...now,
      reason,
      message: `${namesOf(running)}: stopped for the recovery`,
    };
  }
  const stopping = o.members.filter(({ pod }) => pod);
  if (stopping.length > 0) return { do: "wait", reason, message: `${namesOf(stopping)}: stopping` };
  const open = o.members.find(
    (member) => member !== survivor && member.claim && !member.claim.fenced && !member.claim.deleting,
  );
  if (open) {
    const { name } = open.record;
    return { do: "fenceClaim", member: name, reason, message: `the volume of ${name} is set aside` };
  }
  return {
    do: "record",
    status: {
      members: [{ ...survivor.record, phase: "Voter" }],
      recovery: { ...recovery, phase: "Forcing" },
      // Where there is no way back, nothing older reads its data.
      rollout: isReversible(o) ? undefined : o.status.rollout,
    },
    reason,
    message: `${survivor.record.name} will continue alone`,
  };
}

function force(o: Observed, survivor: ObservedMember, recovery: Recovery): Decision {
  const { name } = survivor.record;
  if (!survivor.pod)
    return podFor(o, survivor, "force", `${name} starts and drops the members that are lost`);
  const isAlone = o.list?.members.length === 1 && survivor.status?.leader === survivor.status?.memberId;
  if (isAlone && survivor.pod.forceNewCluster) {
    return {
      do: "record",
      status: { recovery: { ...recovery, phase: "Restarting" } },
      reason,
      message: `${name} leads a cluster of its own`,
    };
  }
  return { do: "wait", reason, message: `${described([survivor])} is starting`, recheckMs: 500 };
}

function restartAsUsual(o: Observed, survivor: ObservedMember, recovery: Recovery): Decision {
  const { name } = survivor.record;
  const { pod } = survivor;
  // A claim that is being deleted goes with its pod: how the container starts next is then changed in the pod itself.
  const mustRun = isDoomed(o, survivor);
  if (pod?.forceNewCluster && !pod.deleting && !mustRun) {
    return { do: "deletePods", members: [name], reason, message: `${name} restarts as usual` };
  }
  if (!pod) return podFor(o, survivor, "again", `${name} starts as usual`);
  if ((pod.forceNewCluster && !mustRun) || !o.list)
    return { do: "wait", reason, message: `${described([survivor])} is starting`, recheckMs: 500 };
  return {
    do: "record",
    status: { recovery: undefined },
    event: `recovered from ${name}: ${recovery.lost}. ${usedAgain(recovery)}`,
    reason,
    message: `recovered from ${name}`,
  };
}

/** Forcing a new cluster cannot raise revisions, as a restore does: what was lost is counted a second time. */
function usedAgain({ revision }: Recovery): string {
  const after = revision === "unknown" ? "Revisions that were lost" : `Revisions after ${revision}`;
  return `${after} may be used a second time: restart clients that watch keys or cache them`;
}

function podFor(o: Observed, survivor: ObservedMember, mode: "force" | "again", message: string): Decision {
  const template = templateFor(o, survivor.record);
  if (!template) return { do: "wait", reason, message };
  const { hash, recipe } = template;
  const pods = [
    { member: survivor.record.name, template: { hash, recipe }, start: { mode }, role: "voter" as const },
  ];
  return { do: "createPods", pods, reason, message };
}
