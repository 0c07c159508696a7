/** A change that rolls through the members: a version, a setting, resources. One restart at a time, leader last. */

import { minorOf } from "@keelson/kit";
import { Quantity } from "keelson";
import type { Template } from "../api/cluster.ts";
import { reasons } from "../api/conditions.ts";
import { nextVersion } from "../engine/version.ts";
import type { Observed, ObservedMember, TrialView } from "../observe/observed.ts";
import { trialName } from "../resources/names.ts";
import { recipeOf, templateOf } from "../resources/recipe.ts";
import type { Decision } from "./decision.ts";
import { isSettled, isStable, leaderOf, namesOf, purposeOf, unchangedMs, withMember } from "./facts.ts";
import { failedRollout, failureOf } from "./failed-rollout.ts";

const reason = reasons.rolling;

/** Before the last member takes a new minor there is a way back; after it there is none. So the others are watched. */
const soakMs = 15_000;

/** The next template on the way to the spec, or why there is no way. */
export function desiredTemplate(o: Observed): { readonly template: Template } | { readonly refused: string } {
  const from = o.status.template?.recipe.version ?? o.spec.version;
  const hop = nextVersion(from, o.spec.version);
  if ("refused" in hop) return hop;
  const recipe = recipeOf(o, hop.to);
  const isPassingThrough = minorOf(from) === "3.4" && minorOf(hop.to) !== minorOf(o.spec.version);
  return {
    template: templateOf(
      isPassingThrough ? { ...recipe, settings: withFrequentSnapshots(recipe.settings) } : recipe,
    ),
  };
}

/** The default of 3.6: an upgrade from 3.4 to 3.6 waits for a snapshot, see `oldLogEntries`. */
function withFrequentSnapshots(settings: Template["recipe"]["settings"]): Template["recipe"]["settings"] {
  return { snapshotCount: 10_000, ...settings };
}

export function rollout(o: Observed): Decision | undefined {
  if (!o.list) return undefined;
  return o.status.rollout ? proceed(o, o.status.rollout) : begin(o);
}

function begin(o: Observed): Decision | undefined {
  const template = pending(o);
  if (!template) return undefined;
  const unsettled = o.members.filter((member) => !isSettled(o, member));
  if (!isStable(o) || unsettled.length > 0) {
    const who = unsettled.length > 0 ? namesOf(unsettled) : "every member";
    const message = `a rollout waits until ${who} has served for a while`;
    return { do: "wait", reason, message, recheckMs: 1_000 };
  }
  const entriesLeft = oldLogEntries(o, template);
  if (entriesLeft > 0) {
    const message = `etcd ${template.recipe.version} cannot read what 3.4 left in the log; it follows when every member has written a snapshot, after ${entriesLeft} more changes (fewer with a lower spec.settings.snapshotCount)`;
    return { do: "wait", reason, message, recheckMs: 5_000 };
  }
  const { version } = template.recipe;
  const impossible = oversized(o, template) ?? failedTrial(o, template);
  if (impossible !== undefined) {
    return {
      do: "record",
      status: { failedRollout: failedRollout(o, template, impossible) },
      reason: reasons.rolloutFailed,
      message: `nothing is rolled out: ${impossible}`,
    };
  }
  const what = version === o.status.template?.recipe.version ? "a new configuration" : `etcd ${version}`;
  const by = trialName(o.cluster, template.hash);
  const trial = trialOf(o, template);
  if (!trial && o.trials.some((other) => other.template === template.hash))
    return { do: "wait", reason, message: `${what} is tried when ${by} has stopped`, recheckMs: 1_000 };
  if (!trial) return { do: "tryTemplate", template, reason, message: `${what} is tried by ${by}` };
  if (trial.outcome === "running") {
    const obstacle =
      trial.obstacle === undefined
        ? ""
        : `, which cannot run: ${trial.obstacle}; it is given up after spec.timeouts.obstacleSeconds`;
    return { do: "wait", reason, message: `${what} is tried by ${by}${obstacle}`, recheckMs: 1_000 };
  }
  return {
    do: "record",
    status: { rollout: template },
    reason,
    message: `${what} is rolled out`,
  };
}

/** The default of etcd 3.5. */
const defaultSnapshotCount = 100_000;
/** Entries are applied in batches, and a snapshot is considered after each. */
const largestBatch = 5_000;

/**
 * How many entries are to come before 3.6 may be entered from a cluster that was 3.4 once, whose health checks went
 * through the log in a form that 3.6 panics at. A member reads its log from its last snapshot on, and writes one when it
 * has applied so many entries since: beyond that its log is free of them, whenever its last snapshot was.
 */
function oldLogEntries(o: Observed, { recipe }: Template): number {
  const { oldLog, template } = o.status;
  if (!oldLog || minorOf(recipe.version) === minorOf(template?.recipe.version ?? "")) return 0;
  const count = Number(template?.recipe.settings?.["snapshotCount"] ?? defaultSnapshotCount);
  const behind = o.members.map(({ status }) => BigInt(oldLog.index) - (status?.appliedIndex ?? 0n));
  return Math.max(...behind.map((each) => Number(each) + count + largestBatch));
}

/** The template that has yet to be rolled out. */
function pending(o: Observed): Template | undefined {
  const next = desiredTemplate(o);
  if (o.status.rollout || "refused" in next) return undefined;
  const { template } = next;
  const isOver = template.hash === o.status.template?.hash || failureOf(o, template.hash) !== undefined;
  return isOver ? undefined : template;
}

/** Trial pods of a template that is no longer pending are deleted. */
export function finishedTrials(o: Observed): Decision | undefined {
  const template = pending(o);
  const spent = o.trials.some((trial) => !trial.deleting && trial.template !== template?.hash);
  return spent ? { do: "endTrials", reason, message: "a trial is over" } : undefined;
}

function trialOf(o: Observed, template: Template): TrialView | undefined {
  return o.trials.find((trial) => trial.template === template.hash && !trial.deleting);
}

function failedTrial(o: Observed, template: Template): string | undefined {
  const trial = trialOf(o, template);
  const image = `${template.recipe.image}:v${template.recipe.version}`;
  if (trial?.outcome === "failed") return `${image} holds no etcd that runs`;
  const stuck =
    trial?.obstacle !== undefined && o.nowMs - trial.createdMs >= o.spec.timeouts.obstacleSeconds * 1_000;
  return stuck ? `${image} cannot run: ${trial.obstacle}` : undefined;
}

/** A request that no node could ever satisfy. */
function oversized(o: Observed, { recipe }: Template): string | undefined {
  const requests = (recipe.resources?.["requests"] ?? {}) as Record<string, string | number>;
  for (const resource of ["cpu", "memory"] as const) {
    const asked = requests[resource];
    const most = o.largestNode?.[resource];
    if (asked === undefined || most === undefined) continue;
    if (Quantity.from(asked).compare(Quantity.from(most)) > 0) {
      return `no node has ${resource} ${asked}, the largest has ${most}`;
    }
  }
  return undefined;
}

function proceed(o: Observed, rolling: NonNullable<Observed["status"]["rollout"]>): Decision {
  const { hash, recipe } = rolling;
  const updated = o.members.filter(({ record }) => record.template === hash);
  const outdated = o.members.filter(({ record }) => record.template !== hash);
  const unfit = updated.map((member) => unfitReason(o, member, rolling)).find((why) => why !== undefined);
  if (!isStable(o) || unfit !== undefined) {
    return {
      do: "wait",
      reason,
      message: unfit ?? "a rollout waits until every member serves",
      recheckMs: 1_000,
    };
  }
  const next = nextOf(o, outdated);
  const cordoned = o.members.find((member) => member.nodeCordoned && member !== next);
  if (cordoned && next) {
    return {
      do: "wait",
      reason,
      message: `a rollout waits: node ${cordoned.pod?.node} of ${cordoned.record.name} is cordoned; drain it, or uncordon it`,
    };
  }
  const comparison =
    updated.length > 0 && o.members.length > 1 ? compared(o, hash, updated.length) : undefined;
  if (comparison) return comparison;
  const before = minorOf(o.status.template?.recipe.version ?? recipe.version);
  const raised = minorOf(recipe.version) !== before;
  if (!next) {
    return {
      do: "record",
      status: {
        template: { hash, recipe },
        ...(raised ? { oldLog: before === "3.4" ? { index: raftIndex(o) } : undefined } : {}),
        rollout: undefined,
        failedRollout: undefined,
        comparison: undefined,
      },
      event: `every member runs etcd ${recipe.version} with the settings of the spec`,
      reason,
      message: `etcd ${recipe.version} runs everywhere`,
    };
  }
  const fresh = updated.find((member) => unchangedMs(o, member) < soakMs);
  if (raised && outdated.length === 1 && o.members.length > 1 && fresh) {
    return {
      do: "wait",
      reason,
      message: `${next.record.name} is the last: the others are watched for a while`,
      recheckMs: 1_000,
    };
  }
  return {
    do: "record",
    status: {
      members: withMember(o, next.record.name, { template: hash }),
      rollout: { ...rolling, index: raftIndex(o) },
    },
    event: `${next.record.name} takes etcd ${recipe.version}`,
    reason,
    message: `${next.record.name} is next (${updated.length} of ${o.members.length} done)`,
  };
}

/** The leader's: a stable cluster has one. */
function raftIndex(o: Observed): string {
  return String(leaderOf(o)?.status?.raftIndex ?? 0n);
}

/** Why an updated member cannot be relied on yet, as a sentence. */
function unfitReason(
  o: Observed,
  member: ObservedMember,
  rolling: NonNullable<Observed["status"]["rollout"]>,
): string | undefined {
  const { record, pod, status, readThrough } = member;
  const { name } = record;
  if (pod?.template !== rolling.hash || !status) return `${name} is restarting`;
  if (status.version !== rolling.recipe.version) return `${name} runs etcd ${status.version}`;
  if (status.appliedIndex < BigInt(rolling.index ?? 0)) return `${name} is catching up`;
  if (readThrough !== true) return `${name} does not answer a linearizable read`;
  if (!isSettled(o, member)) return `${name} has not served for long enough`;
  return undefined;
}

/** Hashes that differ may agree again when a person has done something about it. */
const compareAgainMs = 300_000;

/** Nothing when all members have the same data since this many were updated. */
function compared(o: Observed, hash: string, updated: number): Decision | undefined {
  const members = o.members.map(({ record }) => record.name).sort();
  const purpose = purposeOf("rollout", `${hash}/${updated}`, o.members);
  const { comparison } = o.status;
  if (comparison?.purpose !== purpose) {
    return { do: "compareHashes", purpose, members, reason, message: "the members' hashes are compared" };
  }
  const { agreed, odd, revision, at } = comparison;
  if (agreed && odd.length === 0) return undefined;
  const who = agreed
    ? `${odd.join(", ")} has other data than the majority`
    : `no majority of ${members.join(", ")} has the same data`;
  const message = `the rollout is stopped: at revision ${revision} ${who}; take the spec back to undo it, or delete the claim and the pod of a member whose data is wrong; the hashes are compared again every five minutes`;
  const why = reasons.corrupt;
  const ageMs = o.nowMs - Date.parse(at ?? "");
  // Not a number without a time, and negative when the clock was set back.
  const isFresh = ageMs >= 0 && ageMs < compareAgainMs;
  return isFresh
    ? { do: "refuse", reason: why, message }
    : { do: "compareHashes", purpose, members, reason: why, message };
}

/**
 * Followers first, those on cordoned nodes before the others, then the leader. Last is who starts with a certificate that
 * only those trust who have restarted.
 */
function nextOf(o: Observed, outdated: readonly ObservedMember[]): ObservedMember | undefined {
  const leader = leaderOf(o);
  const { holders } = o.certificates.peer ?? {};
  const rank = (member: ObservedMember) => {
    if (holders?.includes(member.record.name) === false) return 3;
    return member === leader ? 2 : member.nodeCordoned ? 0 : 1;
  };
  return [...outdated].sort((a, b) => rank(a) - rank(b))[0];
}
