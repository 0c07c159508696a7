/** Members that cannot come back by themselves, judged by their data and never by a network failure alone. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import {
  canRemove,
  dataLoss,
  isHealthy,
  isInconsistent,
  isLeader,
  isUp,
  nodeOf,
  purposeOf,
  unchangedMs,
  voterCount,
  voters,
} from "./facts.ts";
import { joinUpTo } from "./join.ts";
import { leave } from "./leaving.ts";
import { grow, newcomer } from "./scale.ts";
import { corruption } from "./upkeep.ts";

const reason = reasons.healing;

/**
 * Remove, then add: with three voters and one of them gone etcd accepts no addition at all. The others must have their
 * majority without it, so a second loss at the same time waits until the first is replaced. One that still serves is in
 * no hurry: it goes when there are as many others as there can be, and its data is copied as long as it is there.
 */
export function lostMember(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  const lost = o.members.flatMap((member) => {
    const why = member.record.phase === "Leaving" ? undefined : lossOf(o, member);
    return why === undefined ? [] : [{ member, why }];
  });
  const [first] = lost;
  if (!first) return undefined;
  const gone = lost.find(
    ({ member }) => (!isHealthy(member) || member.entry?.learner) && canRemove(o, member),
  );
  if (gone) return leave(o, gone.member, gone.why, reason);
  const serving = lost.find(({ member }) => isHealthy(member));
  if (serving) return replaceServing(o, serving.member, serving.why);
  const message = `${first.member.record.name} cannot be replaced now: ${first.why}, and without it the others would have no majority`;
  return { do: "wait", reason: reasons.unhealthy, message };
}

function replaceServing(o: Observed, member: ObservedMember, why: string): Decision | undefined {
  const { name } = member.record;
  // Nobody joins beside data that may be corrupt: whose it is comes first.
  const corrupt = corruption(o);
  if (corrupt) return corrupt;
  const addition = addFirst(o);
  const areOthersWell = voters(o).every(isHealthy);
  if (addition && (addition.do !== "wait" || areOthersWell)) {
    const message = `${name} is replaced while it serves: ${why}; ${addition.message}`;
    return { ...addition, reason, message };
  }
  if (!addition && canRemove(o, member)) return leave(o, member, why, reason);
  // What helps others that do not serve comes first: this member is not restarted before they do.
  if (!areOthersWell) return undefined;
  const message = `${name} cannot be replaced: ${why}, so its data goes with its pod, and the key of the authority for peers was deleted, so nobody can join before it restarts; take an EtcdBackup and make the cluster again with spec.restoreFrom`;
  return { do: "refuse", reason, message };
}

/** A member that is to be there before one that serves is removed. The only member needs another, whatever the spec says. */
function addFirst(o: Observed): Decision | undefined {
  const size = Math.max(o.spec.size, 2);
  return joinUpTo(o, size) ?? (o.members.length < size && newcomer(o) ? grow(o, size) : undefined);
}

/** Why waiting for a member is pointless, as a sentence. */
export function lossOf(o: Observed, member: ObservedMember): string | undefined {
  return dataLoss(o, member) ?? nodeLoss(o, member);
}

function nodeLoss(o: Observed, member: ObservedMember): string | undefined {
  const { nodeLostSinceMs, status, pod } = member;
  if (nodeLostSinceMs === undefined || status !== undefined || pod?.ready) return undefined;
  const seconds = o.spec.recovery.nodeLossTimeoutSeconds;
  return o.nowMs - nodeLostSinceMs >= seconds * 1_000
    ? `its node ${nodeOf(member)} has been gone for ${seconds} s`
    : undefined;
}

/**
 * etcd compares its data with the others' before it serves, and exits when one of them has other data. That one may be
 * wrong, and this member right: it is replaced only when a majority of the voters has the same data without it.
 */
export function inconsistentMember(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  const member = o.members.find((each) => each.record.phase !== "Leaving" && isInconsistent(o, each));
  if (!member) return undefined;
  const { name } = member.record;
  const why = reasons.corrupt;
  const asked = voters(o).filter(({ status }) => status !== undefined);
  const members = asked.map(({ record }) => record.name);
  const purpose = purposeOf("inconsistent", `${member.record.id}`, asked);
  const { comparison } = o.status;
  if (comparison?.purpose !== purpose) {
    const message = `${name} does not have the data of every other member; hashes are compared`;
    return { do: "compareHashes", purpose, members, reason: why, message };
  }
  if (!comparison.agreed) {
    const message = `${name} does not start: another member has other data, and no majority of the voters has the same without it; find out whose data is right, and delete the claim and the pod of a member whose data is wrong`;
    return { do: "refuse", reason: why, message };
  }
  const odd = o.members.find(({ record }) => comparison.odd.includes(record.name)) ?? member;
  if (canRemove(o, odd)) return leave(o, odd, "its data is not that of the majority", why);
  const message = `${odd.record.name} cannot be replaced now: without it the others would have no majority`;
  return { do: "wait", reason: why, message };
}

/** A restart takes seconds: a voter that merely restarts is not the one to remove. */
const restartMs = 60_000;

function isGoneForLong(o: Observed, member: ObservedMember): boolean {
  const { pod } = member;
  return pod !== undefined && !pod.deleting && unchangedMs(o, member) >= restartMs;
}

/** Someone joins, or is to join. */
function isIncomplete(o: Observed): boolean {
  const isJoining = o.members.some(({ record: { phase } }) => phase === "Joining" || phase === "Learner");
  return o.list !== undefined && (isJoining || (o.members.length < o.spec.size && newcomer(o) !== undefined));
}

/** Voters that should serve and do not: nothing else is started until they do. */
export function unhealthyVoters(o: Observed): Decision | undefined {
  const unhealthy = o.members.filter(
    ({ record, pod, status }) =>
      record.phase === "Voter" && !(pod?.ready && !pod.deleting && status?.leader !== undefined),
  );
  if (unhealthy.length === 0) return undefined;
  // Nobody knows when a silent kubelet is back: a member that is missing does not wait for that.
  if (isIncomplete(o) && unhealthy.every(isUp)) return undefined;
  const spare =
    o.list && voterCount(o) > o.spec.size
      ? unhealthy.find((member) => isGoneForLong(o, member) && !isLeader(o, member) && canRemove(o, member))
      : undefined;
  if (spare) return leave(o, spare, `the cluster shrinks to ${o.spec.size}`, reasons.shrinking);
  const states = unhealthy.map(({ record, pod, status }) => {
    const state = !pod
      ? "has no pod"
      : pod.deleting
        ? "is stopping"
        : (pod.obstacle ??
          (status ? (status.leader ? "is not ready" : "knows no leader") : "does not answer"));
    return `${record.name} ${state}`;
  });
  const doomed = o.members.filter(isHealthy).flatMap((member) => {
    const why = lossOf(o, member);
    return why === undefined ? [] : `${member.record.name} is replaced after that: ${why}`;
  });
  const settling = unhealthy.every(({ pod, status }) => pod && !pod.deleting && status?.leader !== undefined);
  const why = settling ? reasons.settling : reason;
  return { do: "wait", reason: why, message: [...states, ...doomed].join("; "), recheckMs: 1_000 };
}
