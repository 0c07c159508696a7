/** Members that do not run: what they need of the spec reaches them at once, with or without a quorum. */
import { isNewerMinor, minorOf } from "@keelson/kit";
import { Quantity } from "keelson";
import type { Template } from "../api/cluster.ts";
import { reasons } from "../api/conditions.ts";
import { ofNextMinor } from "../engine/version.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import { recipeOf, templateOf } from "../resources/recipe.ts";
import type { Decision } from "./decision.ts";
import { cannotRun, dataLoss, diagnosisOf, isHealthy, namesOf, needsPod } from "./facts.ts";
import { failureOf } from "./failed-rollout.ts";
import { mayGrow } from "./refused-growth.ts";
import { desiredTemplate } from "./rollout.ts";

/**
 * A member whose pod Kubernetes cannot run (no node fits, no image, no end of crashes) disturbs nobody when its pod is
 * replaced. So a corrected spec is not tried first and waits for nobody; the members that run follow in a rollout. One
 * whose data is lost is not helped by any spec.
 */
export function stuckMembers(o: Observed): Decision | undefined {
  const { template, rollout } = o.status;
  if (!template) return undefined;
  for (const target of targetsOf(o, template)) {
    const stuck = o.members.filter(
      (member) =>
        needsPod(o, member) &&
        isStuck(member, rollout) &&
        member.record.template !== target.hash &&
        dataLoss(o, member) === undefined &&
        mayTake(member, target, template),
    );
    if (stuck.length === 0) continue;
    const members = o.members.map((member) =>
      stuck.includes(member) ? { ...member.record, template: target.hash } : member.record,
    );
    return {
      do: "record",
      status: { members, rollout: target.hash === template.hash ? undefined : target },
      reason: reasons.rolling,
      message: `${namesOf(stuck)} cannot run and follows the spec`,
    };
  }
  return undefined;
}

/** What members that cannot run may take at once, the best first: the spec, or as much of it as needs no other version. */
function targetsOf(o: Observed, template: Template): readonly Template[] {
  const { rollout } = o.status;
  // A rollout of what the spec asks for goes on. If it failed, the members are on their way back from it.
  if (rollout && isWanted(o, rollout))
    return rollout.rollback === undefined && isSafe(o, rollout, template) ? [rollout] : [];
  const desired = desiredTemplate(o);
  const now = templateNow(o);
  return [...("template" in desired ? [desired.template] : []), ...(now ? [now] : [])].filter(
    (target) =>
      isSafe(o, target, template) &&
      !failureOf(o, target.hash) &&
      !(rollout?.rollback !== undefined && target.hash === rollout.hash),
  );
}

/**
 * Whether a member may take this version out of turn: a patch of the minor that all members run, or a version from which
 * another one serves. Another minor is entered by a rollout alone, with its trial and its way back.
 */
function isSafe(o: Observed, { hash, recipe }: Template, template: Template): boolean {
  if (recipe.version === template.recipe.version) return true;
  const { rollout } = o.status;
  const minor = minorOf(recipe.version);
  const isPatch = [template, rollout].every((each) => !each || minorOf(each.recipe.version) === minor);
  if (isPatch) return !isNewerMinor(o.clusterVersion ?? recipe.version, recipe.version);
  return (
    rollout?.hash === hash &&
    o.members.some(
      (other) => other.pod?.template === hash && isHealthy(other) && other.status?.version === recipe.version,
    )
  );
}

/** Not an older minor than its data is of; and no other version for its own sake where no node takes the pod. */
function mayTake({ pod, claim }: ObservedMember, { recipe }: Template, template: Template): boolean {
  const { version } = template.recipe;
  if (recipe.version === version) return true;
  if (isNewerMinor(claim?.etcdVersion ?? recipe.version, recipe.version)) return false;
  return pod?.node !== undefined || templateOf({ ...recipe, version }).hash !== template.hash;
}

/**
 * Members that cannot read their data because it is of the next minor, or would not after a restart: all of them agreed on
 * it, and nobody saw that before the status was lost or they were to go back. So there is no way but the next minor, for all.
 */
export function newerData(o: Observed): Decision | undefined {
  const { template, rollout } = o.status;
  const older = o.members.filter(
    (member) =>
      needsPod(o, member) && diagnosisOf(member) === "newer" && member.pod?.template === template?.hash,
  );
  if (!template) return undefined;
  const { version } = template.recipe;
  const newest = rollout?.recipe.version ?? version;
  const isAgreed = isNewerMinor(o.clusterVersion ?? newest, newest);
  if (older.length === 0 && !isAgreed) return undefined;
  const target = isNextMinor(rollout, version) ? rollout : nextTemplate(o, version);
  if (!target) return undefined;
  const { hash, recipe } = target;
  return {
    do: "record",
    status: {
      template: { hash, recipe },
      rollout: undefined,
      members: o.members.map(({ record }) => ({ ...record, template: hash })),
      ...(minorOf(version) === "3.4" ? { oldLog: { index: rollout?.index ?? "0" } } : {}),
    },
    reason: reasons.rolling,
    message: `${namesOf(isAgreed ? o.members : older)} has data of a newer etcd than ${version}`,
  };
}

type Rollout = NonNullable<Observed["status"]["rollout"]>;

function isNextMinor(rollout: Rollout | undefined, version: string): rollout is Rollout {
  return rollout !== undefined && minorOf(rollout.recipe.version) !== minorOf(version);
}

function nextTemplate(o: Observed, version: string): Template | undefined {
  const next = ofNextMinor(version, o.spec.version);
  return next === undefined ? undefined : templateOf(recipeOf(o, next));
}

/** A pod that cannot run and is not what its record asks for. */
export function stuckPods(o: Observed): Decision | undefined {
  const outdated = o.members.filter(
    (member) =>
      needsPod(o, member) &&
      cannotRun(member) &&
      member.record.template !== undefined &&
      member.pod?.template !== member.record.template,
  );
  if (outdated.length === 0) return undefined;
  const message = `${namesOf(outdated)}: its pod cannot run and is replaced`;
  return {
    do: "deletePods",
    members: outdated.map(({ record }) => record.name),
    reason: reasons.rolling,
    message,
  };
}

/** A member that does not run for want of space restarts with its larger volume. */
export function stuckVolume(o: Observed): Decision | undefined {
  const full = o.members.find(
    (member) => needsPod(o, member) && member.claim?.needsRestart && cannotRun(member),
  );
  if (!full) return undefined;
  const { name } = full.record;
  const message = `${name} restarts to use its larger volume`;
  return { do: "deletePods", members: [name], reason: reasons.resizing, message };
}

/** Volumes grow where they are, whatever the members do; they never shrink. */
export function growth(o: Observed): Decision | undefined {
  const size = Quantity.from(o.spec.storage.size);
  const small = o.members.find(
    ({ claim }) => claim && !claim.deleting && Quantity.from(claim.requested).compare(size) < 0,
  );
  if (!small || !mayGrow(o)) return undefined;
  const { name } = small.record;
  const message = `the volume of ${name} grows to ${o.spec.storage.size}`;
  return { do: "growClaim", member: name, reason: reasons.resizing, message };
}

/** The spec at the version that runs: a version is changed by a rollout alone. */
function templateNow(o: Observed): Template | undefined {
  const version = o.status.template?.recipe.version;
  if (version === undefined) return undefined;
  const desired = desiredTemplate(o);
  return "template" in desired && desired.template.recipe.version === version
    ? desired.template
    : templateOf(recipeOf(o, version));
}

/** Whether the spec asks for this template, as the next step or at the version that runs. */
export function isAskedFor(o: Observed, template: Template): boolean {
  return isWanted(o, template) || templateNow(o)?.hash === template.hash;
}

function isWanted(o: Observed, rollout: Template | undefined): boolean {
  const desired = desiredTemplate(o);
  return rollout !== undefined && "template" in desired && desired.template.hash === rollout.hash;
}

function isStuck(member: ObservedMember, rollout: Template | undefined): boolean {
  return (
    cannotRun(member) || (!member.pod && rollout !== undefined && member.record.template === rollout.hash)
  );
}
