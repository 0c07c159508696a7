/** Members that cannot come back by themselves, judged by their data and never by a network failure alone. */
import { reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { canRemove, dataLoss, voterCount } from "./facts.ts";
import { leave } from "./leaving.ts";

const reason = reasons.healing;

/**
 * Remove, then add: with three voters and one of them gone etcd accepts no addition at all. The others must have their
 * majority without it, so a second loss at the same time waits until the first is replaced.
 */
export function lostMember(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  for (const member of o.members) {
    const why = member.record.phase === "Leaving" ? undefined : lossOf(o, member);
    if (why === undefined) continue;
    if (canRemove(o, member)) return leave(o, member, why, reason);
    const message = `${member.record.name} cannot be replaced now: ${why}, and without it the others would have no majority`;
    return { do: "wait", reason: reasons.unhealthy, message };
  }
  return undefined;
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
    ? `its node ${pod?.node} has been gone for ${seconds} s`
    : undefined;
}

/** A restart takes seconds: a voter that merely restarts is not the one to remove. */
const restartMs = 60_000;

function isGoneForLong(o: Observed, { pod }: ObservedMember): boolean {
  return pod !== undefined && !pod.deleting && o.nowMs - pod.readyChangedMs >= restartMs;
}

/** Voters that should serve and do not: nothing else is started until they do. */
export function unhealthyVoters(o: Observed): Decision | undefined {
  const unhealthy = o.members.filter(
    ({ record, pod, status }) =>
      record.phase === "Voter" && !(pod?.ready && !pod.deleting && status?.leader !== undefined),
  );
  if (unhealthy.length === 0) return undefined;
  const spare =
    o.list && voterCount(o) > o.spec.size
      ? unhealthy.find((member) => isGoneForLong(o, member) && canRemove(o, member))
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
  const settling = unhealthy.every(({ pod, status }) => pod && !pod.deleting && status?.leader !== undefined);
  const why = settling ? reasons.settling : reason;
  return { do: "wait", reason: why, message: states.join("; "), recheckMs: 1_000 };
}
