/** What to do next: the decision of the first policy that applies. Policies are ordered by importance. */
import { compareVersions } from "@keelson/kit";
import { reasons } from "../api/conditions.ts";
import { hex } from "../engine/etcd.ts";
import { versionProblem } from "../engine/version.ts";
import type { Observed } from "../observe/observed.ts";
import { peerScheme } from "../resources/names.ts";
import { recipeOf, templateOf } from "../resources/recipe.ts";
import { authentication, lockedOut, secretMissing } from "./access.ts";
import { bootstrap } from "./bootstrap.ts";
import type { Decision, Policy } from "./decision.ts";
import { changedClaim, changedPod } from "./drift.ts";
import { dataLoss, mayVote, namesOf } from "./facts.ts";
import { failureOf } from "./failed-rollout.ts";
import { inconsistentMember, lostMember, unhealthyVoters } from "./heal.ts";
import { joining } from "./join.ts";
import { leaving, staying } from "./leaving.ts";
import {
  endedPods,
  misinformedLearner,
  missingPods,
  outdatedPod,
  unmarkedVoter,
  unsignedClaim,
} from "./pods.ts";
import { quorumLoss, recovering } from "./quorum-loss.ts";
import { rollback, rollbackWithoutQuorum } from "./rollback.ts";
import { desiredTemplate, finishedTrials, rollout } from "./rollout.ts";
import { missingMember, scale } from "./scale.ts";
import { growth, newerData, stuckMembers, stuckPods, stuckVolume } from "./stuck.ts";
import { unknownVoters } from "./unknown.ts";
import { corruption, defragmentation, noSpace, volumes } from "./upkeep.ts";

/** The lane of everything that disturbs a member or the membership: one decision in each pass. */
const policies: readonly Policy[] = [
  // Do not touch anything.
  paused,
  secretMissing,
  lockedOut,
  foreignCluster,
  twoOrigins,
  otherScheme,
  // Bootstrap, and the worst case.
  bootstrap,
  untemplated,
  hibernation,
  // The spec reaches a member that cannot run, the survivor of a recovery as well.
  newerData,
  stuckMembers,
  stuckPods,
  stuckVolume,
  recovering,
  // Every member that can run gets a pod that starts correctly. Nothing here changes the membership.
  unsignedClaim,
  unmarkedVoter,
  endedPods,
  rollbackWithoutQuorum,
  missingPods,
  quorumLoss,
  misinformedLearner,
  // One change at a time, each completed before the next: what is in progress, what is broken, what the spec asks for.
  leaving,
  lostMember,
  rollback,
  outdatedPod,
  inconsistentMember,
  corruption,
  noSpace,
  unhealthyVoters,
  staying,
  authentication,
  joining,
  unknownVoters,
  missingMember,
  rollout,
  scale,
  defragmentation,
  volumes,
];

/** The lane of what disturbs nobody: it goes on beside every wait, one decision of each policy in each pass. */
const harmless: readonly Policy[] = [changedPod, changedClaim, growth, finishedTrials];

/** What can be done beside any decision. Nothing where nothing may be touched. */
export function decideBeside(observed: Observed): readonly Decision[] {
  if (paused(observed) ?? foreignCluster(observed) ?? twoOrigins(observed) ?? otherScheme(observed))
    return [];
  return harmless.flatMap((policy) => policy(observed) ?? []);
}

export function decide(observed: Observed): Decision {
  for (const policy of policies) {
    const decision = policy(observed);
    if (decision) return decision;
  }
  return atRest(observed);
}

function paused(o: Observed): Decision | undefined {
  if (!o.spec.paused) return undefined;
  return {
    do: "wait",
    reason: reasons.paused,
    message: "the operator reports and does nothing until spec.paused is false",
    recheckMs: 10_000,
  };
}

/** A member of another cluster answers under one of our names: any action could hit the wrong cluster. */
function foreignCluster(o: Observed): Decision | undefined {
  const { clusterId } = o.status;
  const foreign = o.members.filter(
    ({ status }) => status && clusterId !== undefined && hex(status.clusterId) !== clusterId,
  );
  if (foreign.length === 0) return undefined;
  const message = `${namesOf(foreign)} belongs to cluster ${hex(foreign[0]?.status?.clusterId ?? "0")}, not to ${clusterId}; nothing is touched`;
  return { do: "wait", reason: reasons.clusterIdMismatch, message, recheckMs: 10_000 };
}

/** A backup to restore, and volumes to continue from: only a person knows which of the two counts. */
function twoOrigins(o: Observed): Decision | undefined {
  if (o.earlierVolumes.length === 0) return undefined;
  const claims = o.earlierVolumes.join(", ");
  const message = `spec.restoreFrom names a backup, and the claims ${claims} hold the data of an earlier cluster; delete these claims to restore the backup, or make the cluster again without spec.restoreFrom to continue from them`;
  return { do: "refuse", reason: reasons.specRefused, message };
}

/** etcd keeps with the data how members address each other: with other settings for TLS they would never meet. */
function otherScheme(o: Observed): Decision | undefined {
  const other = o.members.filter(
    ({ claim }) =>
      claim?.peerScheme !== undefined && claim.peerScheme !== peerScheme(o.cluster) && !claim.deleting,
  );
  if (other.length === 0) return undefined;
  const [has, wants, again] = o.cluster.secure?.peer
    ? ["without TLS between members", "spec.tls.peer asks for it", "without spec.tls.peer"]
    : ["with TLS between members", "spec.tls.peer is not set", "with spec.tls.peer"];
  const message = `the claims ${namesOf(other)} hold the data of an earlier cluster ${has}, and ${wants}: members could not reach each other; make the cluster again ${again} to continue from them, or delete these claims to start without their data`;
  return { do: "refuse", reason: reasons.specRefused, message };
}

/** Members that were rediscovered by their volumes need a template. */
function untemplated(o: Observed): Decision | undefined {
  if (o.status.template || o.members.length === 0) return undefined;
  // What runs on the volumes counts, whatever the spec asks for: that is for the rollout to refuse.
  const version = versionOf(o);
  const problem = versionProblem(version);
  if (problem !== undefined) return { do: "refuse", reason: reasons.specRefused, message: problem };
  const template = templateOf(recipeOf(o, version));
  return {
    do: "record",
    status: { template, members: o.members.map(({ record }) => ({ ...record, template: template.hash })) },
    event: `cluster ${o.status.clusterId} continues from the volumes of ${namesOf(o.members)}`,
    reason: reasons.healing,
    message: "the cluster continues from the volumes that were kept",
  };
}

/**
 * The lowest version that runs or has run on the volumes: from there the way to the spec is a rollout, one minor at a time.
 * Not one from before the minor that the members have agreed on: a claim learns of a version when its member answers.
 */
function versionOf(o: Observed): string {
  const known = o.members
    .flatMap(({ status, claim }) => status?.version ?? claim?.etcdVersion ?? [])
    .filter((version) => compareVersions(version, o.clusterVersion ?? version) >= 0);
  return known.sort(compareVersions)[0] ?? o.spec.version;
}

function hibernation(o: Observed): Decision | undefined {
  if (!o.spec.hibernate) return undefined;
  const running = o.members.filter(({ pod }) => pod && !pod.deleting);
  // A claim that is being deleted goes with its pod: such a member is replaced before everyone stops.
  if (running.some((member) => member.claim?.deleting && mayVote(member))) return undefined;
  const reason = reasons.hibernating;
  if (running.length > 0) {
    const members = running.map(({ record }) => record.name);
    return { do: "deletePods", members, reason, message: `${namesOf(running)}: stopped, its data is kept` };
  }
  const stopping = o.members.filter(({ pod }) => pod);
  if (stopping.length > 0) return { do: "wait", reason, message: `${namesOf(stopping)}: stopping` };
  const losses = o.members.filter(mayVote).flatMap((member) => {
    const loss = dataLoss(o, member);
    return loss === undefined ? [] : `${member.record.name}: ${loss}`;
  });
  const kept = losses.length === 0 ? "all data is kept" : `not all data is kept (${losses.join("; ")})`;
  return { do: "nothing", reason: reasons.hibernated, message: `hibernated: no member runs, ${kept}` };
}

/** Nothing to do; but the spec may ask for something impossible. */
function atRest(o: Observed): Decision {
  const next = desiredTemplate(o);
  if ("refused" in next) return { do: "refuse", reason: reasons.versionRefused, message: next.refused };
  const failed = failureOf(o, next.template.hash);
  if (failed) {
    const again = failed.retryAt === undefined ? "" : ` or it is tried again at ${failed.retryAt}`;
    const message = `${failed.message}; the members stay as they were until the spec changes${again}`;
    return { do: "refuse", reason: reasons.rolloutFailed, message };
  }
  return { do: "nothing", reason: reasons.healthy, message: `${o.members.length} members serve` };
}
