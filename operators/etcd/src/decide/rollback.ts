/** A rollout that fails is rolled back, as long as that is possible. */

import { minorOf } from "@keelson/kit";
import type { Member, Template } from "../api/cluster.ts";
import { reasons } from "../api/conditions.ts";
import { majority } from "../engine/quorum.ts";
import { failureMessage } from "../engine/termination-message.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import {
  cannotRun,
  canRestart,
  dataLoss,
  isFull,
  isHealthy,
  isReversible,
  mayServe,
  namesOf,
  needsPod,
  turnOf,
  voterCount,
  withMember,
} from "./facts.ts";
import { failedRollout, failureOf } from "./failed-rollout.ts";
import { canJoin, joining } from "./join.ts";
import { desiredTemplate } from "./rollout.ts";
import { missingMember } from "./scale.ts";
import { isAskedFor } from "./stuck.ts";

const reason = reasons.rollingBack;

type Rollout = NonNullable<Observed["status"]["rollout"]>;

export function rollback(o: Observed): Decision | undefined {
  const { rollout, template } = o.status;
  if (!rollout || !template) return undefined;
  if (rollout.rollback !== undefined) return rollBack(o, rollout, template);
  if (isAgreed(o, rollout, template)) return undefined;
  const why = withdrawn(o) ?? o.members.map((member) => failure(o, member, rollout)).find((each) => each);
  if (why === undefined) return undefined;
  return {
    do: "record",
    status: { rollout: { ...rollout, rollback: why } },
    reason,
    message: `the rollout is rolled back: ${why}`,
  };
}

/** A rollout that costs the quorum does not wait for it. */
export function rollbackWithoutQuorum(o: Observed): Decision | undefined {
  return o.list || !isReversible(o) ? undefined : rollback(o);
}

/** The spec asks for what was there before. */
function withdrawn(o: Observed): string | undefined {
  const next = desiredTemplate(o);
  return "template" in next && next.template.hash === o.status.template?.hash
    ? "the spec no longer asks for it"
    : undefined;
}

/** Why a member that was restarted for the rollout has failed, as a sentence. */
function failure(o: Observed, member: ObservedMember, rollout: Rollout): string | undefined {
  const { record, pod, status } = member;
  if (record.template !== rollout.hash || pod?.template !== rollout.hash) return undefined;
  const ageMs = o.nowMs - pod.createdMs;
  if (status && status.version !== rollout.recipe.version) {
    return `${record.name} runs etcd ${status.version} where ${rollout.recipe.version} was asked for`;
  }
  // A member without data is replaced, and one whose volume is full waits for space; no template can help them.
  if (isHealthy(member) || dataLoss(o, member) !== undefined || isFull(o, member)) return undefined;
  if (pod.obstacle !== undefined && ageMs >= o.spec.timeouts.obstacleSeconds * 1_000) {
    const cause = failureMessage(pod.terminationMessage);
    return `${record.name} cannot run: ${pod.obstacle}${cause === undefined ? "" : `; it said: ${cause}`}`;
  }
  const { startSeconds } = o.spec.timeouts;
  return ageMs >= startSeconds * 1_000 ? `${record.name} was not ready after ${startSeconds} s` : undefined;
}

/**
 * The version that the members agreed on rises only when all of them run the new minor; from then on the old one refuses
 * the data.
 */
function isAgreed({ clusterVersion }: Observed, rollout: Rollout, template: Template): boolean {
  const minor = clusterVersion === undefined ? undefined : minorOf(clusterVersion);
  return minor === minorOf(rollout.recipe.version) && minor !== minorOf(template.recipe.version);
}

/** One member after the other, those that do not serve first. */
function rollBack(o: Observed, rollout: Rollout, template: Template): Decision {
  if (isAgreed(o, rollout, template)) {
    return {
      do: "record",
      status: { rollout: withoutRollback(rollout), members: o.members.map((each) => forNext(each, rollout)) },
      event: `there is no way back to etcd ${template.recipe.version}: the members have agreed on ${minorOf(rollout.recipe.version)}`,
      reason,
      message: `there is no way back to etcd ${template.recipe.version}`,
    };
  }
  const changed = o.members.filter(({ record }) => record.template === rollout.hash);
  const next = changed.find((member) => !isHealthy(member)) ?? changed[0];
  const forward = next && mayServe(next) ? forwardAgain(o, rollout, template) : undefined;
  if (forward) return forward;
  // With one of three gone, every restart of one that serves would cost the quorum.
  const isNeeded = next && mayServe(next) && majority(voterCount(o)) === voterCount(o);
  const addition = isNeeded && canJoin(o) ? (joining(o) ?? missingMember(o)) : undefined;
  if (addition) return { ...addition, reason };
  if (next && !canRestart(o, next)) {
    return {
      do: "wait",
      reason,
      message: turnOf(o, next),
    };
  }
  if (next) {
    return {
      do: "record",
      status: { members: withMember(o, next.record.name, { template: template.hash }) },
      reason,
      message: `${next.record.name} returns to etcd ${template.recipe.version}`,
    };
  }
  const { rollback: message = "" } = rollout;
  const failed = message === withdrawn(o) ? undefined : failedRollout(o, rollout, `rolled back: ${message}`);
  return {
    do: "record",
    status: { rollout: undefined, comparison: undefined, failedRollout: failed },
    reason,
    message: `every member is back at etcd ${template.recipe.version}`,
  };
}

/**
 * The way back may be closed: the old template asks for nodes or images that are gone. While members that cannot run from
 * it are waited for, and others serve from what the spec asks for, the rollout goes on; with pauses, in case neither runs.
 */
function forwardAgain(o: Observed, rollout: Rollout, template: Template): Decision | undefined {
  if (!isAskedFor(o, rollout) || failureOf(o, rollout.hash)) return undefined;
  const stranded = o.members.filter(
    (member) =>
      needsPod(o, member) &&
      member.pod?.template === template.hash &&
      cannotRun(member) &&
      o.nowMs - member.pod.createdMs >= o.spec.timeouts.obstacleSeconds * 1_000 &&
      dataLoss(o, member) === undefined &&
      !isFull(o, member),
  );
  const [first] = stranded;
  if (!first) return undefined;
  const members = o.members.map(({ record }) =>
    stranded.some((each) => each.record === record) ? { ...record, template: rollout.hash } : record,
  );
  const why = `${first.record.name} cannot run from the old template either: ${first.pod?.obstacle}`;
  const failed = failedRollout(o, rollout, `${rollout.rollback}; ${why}`);
  return {
    do: "record",
    status: { members, rollout: withoutRollback(rollout), failedRollout: failed },
    event: `the rollout goes on: ${why}`,
    reason: reasons.rolling,
    message: `${namesOf(stranded)} cannot run from the old template and follows the spec`,
  };
}

/** One that has yet to join could not with an older minor than the others have agreed on. */
function forNext({ record }: ObservedMember, { hash }: Rollout): Member {
  return record.phase === "Joining" || record.phase === "Learner" ? { ...record, template: hash } : record;
}

function withoutRollback({ rollback: _, ...rest }: Rollout): Rollout {
  return rest;
}
