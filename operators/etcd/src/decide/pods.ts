/** Pods that are missing, ended, or made from what their record no longer asks for. */
import { reasons } from "../api/conditions.ts";
import { schemeOf } from "../engine/etcd.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { StartMode } from "../resources/flags.ts";
import { startSettings } from "../resources/flags.ts";
import { memberOfPeerUrl } from "../resources/names.ts";
import type { Decision, PodPlan } from "./decision.ts";
import {
  canRestart,
  dataLoss,
  diagnosisOf,
  isHealthy,
  lagOf,
  leaderOf,
  mayServe,
  namesOf,
  needsPod,
  startedBefore,
  templateFor,
  turnOf,
  voterCount,
  voters,
} from "./facts.ts";

const reason = reasons.healing;

/** A member whose data is there gets its pod back, as the same member. All that are missing at once. */
export function missingPods(o: Observed): Decision | undefined {
  const waiting = o.members.filter(
    (member) =>
      needsPod(o, member) && !member.pod && member.claim !== undefined && dataLoss(o, member) === undefined,
  );
  const plans = waiting.flatMap((member) => planFor(o, member) ?? []);
  if (plans.length === 0) return undefined;
  return {
    do: "createPods",
    pods: plans,
    reason: plans.every(({ role }) => role === "learner") ? reasons.growing : reason,
    message: `${plans.map(({ member }) => member).join(", ")}: its pod starts`,
  };
}

/** A pod that has ended does not start again: it is replaced. */
export function endedPods(o: Observed): Decision | undefined {
  const ended = o.members.filter(
    (member) => needsPod(o, member) && member.pod?.ended && !member.pod.deleting,
  );
  if (ended.length === 0) return undefined;
  const members = ended.map(({ record }) => record.name);
  return {
    do: "deletePods",
    members,
    reason,
    message: `${namesOf(ended)}: its pod has ended and is replaced`,
  };
}

/** A learner that never ran cannot start with an outdated list of members: its pod is recreated. */
export function misinformedLearner(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  const misinformed = o.members.find((member) => {
    const { record, pod } = member;
    if (record.phase !== "Learner" || !pod || pod.deleting || startedBefore(member) || member.status)
      return false;
    const start = joinMode(o, member);
    const outdated =
      start && startSettings(o.cluster, record.name, start).initialCluster !== pod.initialCluster;
    return outdated || diagnosisOf(member) === "outdatedList";
  });
  if (!misinformed) return undefined;
  const { name } = misinformed.record;
  const message = `${name} was started with a list of members that has changed since; its pod is recreated`;
  return { do: "deletePods", members: [name], reason: reasons.growing, message };
}

/** Voters are in the services and the budget, and refuse to start over an empty volume. */
export function unmarkedVoter(o: Observed): Decision | undefined {
  const unmarked = o.members.find(({ record, entry, pod }) => {
    if (record.phase !== "Voter" || !entry || entry.learner || !pod || pod.deleting) return false;
    const wanted = startSettings(o.cluster, record.name, { mode: "again" });
    return (
      pod.role !== "voter" ||
      pod.forceNewCluster ||
      pod.initialClusterState !== wanted.initialClusterState ||
      pod.initialCluster !== wanted.initialCluster
    );
  });
  if (!unmarked) return undefined;
  const { name } = unmarked.record;
  return { do: "markVoter", member: name, reason: reasons.growing, message: `${name} votes and may serve` };
}

/** A claim carries the identity of its data, so that the data is known even when the status is gone. */
export function unsignedClaim(o: Observed): Decision | undefined {
  const unsigned = o.members.find(
    ({ record, claim, status, entry }) =>
      record.phase !== "Seed" &&
      record.phase !== "Leaving" &&
      record.id !== undefined &&
      claim !== undefined &&
      !claim.deleting &&
      claim.uid === record.claimUid &&
      (claim.memberId !== record.id ||
        claim.clusterId !== o.status.clusterId ||
        claim.clusterUid !== o.cluster.uid ||
        (entry !== undefined && claim.peerScheme !== schemeOf(entry)) ||
        (status !== undefined && claim.etcdVersion !== status.version)),
  );
  if (!unsigned) return undefined;
  const { name } = unsigned.record;
  return {
    do: "signClaim",
    member: name,
    reason: reasons.growing,
    message: `the volume of ${name} is marked as its own`,
  };
}

/** A restart that was decided: the record asks for another template than the pod was made from. */
export function outdatedPod(o: Observed): Decision | undefined {
  const all = o.members.filter(
    ({ record, pod }) =>
      isKept({ record }) &&
      pod !== undefined &&
      !pod.deleting &&
      record.template !== undefined &&
      pod.template !== record.template,
  );
  // The others may be waiting for one that does not serve.
  const outdated = all.find((member) => !mayServe(member)) ?? all[0];
  if (!outdated) return undefined;
  return restart(o, outdated, reasons.rolling, `${outdated.record.name} restarts from its new template`);
}

/** Restarts one member: never while another is missing, and never as the leader. */
export function restart(
  o: Observed,
  member: ObservedMember,
  why: Decision["reason"],
  message: string,
): Decision {
  const { name } = member.record;
  if (!canRestart(o, member)) {
    return { do: "wait", reason: why, message: turnOf(o, member) };
  }
  const handover = isHealthy(member) ? passLeadership(o, member, why) : undefined;
  return handover ?? { do: "deletePods", members: [name], reason: why, message };
}

/** Leadership goes to the voter that is furthest along; clients notice an election, not a failure. */
export function passLeadership(
  o: Observed,
  member: ObservedMember,
  why: Decision["reason"],
): Decision | undefined {
  if (leaderOf(o) !== member || voterCount(o) === 1) return undefined;
  const successors = voters(o).filter((other) => other !== member && isHealthy(other) && !other.nodeCordoned);
  const distance = (successor: ObservedMember) => lagOf(o, successor) ?? Number.MAX_SAFE_INTEGER;
  const [successor] = successors.sort((a, b) => distance(a) - distance(b));
  if (!successor?.entry) return undefined;
  return {
    do: "moveLeader",
    from: member.record.name,
    to: successor.record.name,
    toId: successor.entry.id,
    reason: why,
    message: `leadership passes from ${member.record.name} to ${successor.record.name}`,
  };
}

/** Members that stay. */
function isKept({ record }: Pick<ObservedMember, "record">): boolean {
  return record.phase === "Voter" || record.phase === "Learner";
}

function planFor(o: Observed, member: ObservedMember): PodPlan | undefined {
  const { record, entry } = member;
  const template = templateFor(o, record);
  if (!template) return undefined;
  const { hash, recipe } = template;
  const isVoter = record.phase === "Voter" || (record.phase === "Leaving" && entry?.learner !== true);
  const role = isVoter ? "voter" : "learner";
  // Without a quorum nobody knows whether it votes by now: with data it goes on as what it is, without it does not start.
  const isUnknown = o.list === undefined && record.id !== undefined;
  const start: StartMode | undefined =
    isUnknown || startedBefore(member) ? { mode: "again" } : joinMode(o, member);
  // A learner's first start needs etcd's list.
  if (!start || (record.phase === "Learner" && !entry && !isUnknown)) return undefined;
  return { member: record.name, template: { hash, recipe }, start, role };
}

/** All members in etcd's list by name; the one that joins has none there yet. */
function joinMode(o: Observed, { record }: ObservedMember): StartMode | undefined {
  if (!o.list) return undefined;
  const pairs = o.list.members.map(({ name, peerUrls }) => {
    const [url = ""] = peerUrls;
    return [name || memberOfPeerUrl(o.cluster, url) || url, url] as const;
  });
  const members = Object.fromEntries(pairs);
  return record.name in members ? { mode: "join", members } : undefined;
}
