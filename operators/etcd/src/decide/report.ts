/** The status after a pass: pure, and the same as long as nothing changes. */

import { compareVersions } from "@keelson/kit";
import type { Member, Status } from "../api/cluster.ts";
import { conditions, type Reason, reasons } from "../api/conditions.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import { selectorLabels } from "../resources/names.ts";
import type { Decision } from "./decision.ts";
import { comparisonNow, isHealthy, lagOf, leaderOf, voters } from "./facts.ts";
import { refusalNow } from "./refused-growth.ts";
import { describeUnknown } from "./unknown.ts";

/** How often the newest revision is stored while it changes. */
const storeEveryMs = 60_000;
/** A voter this close to the leader counts as level with it: under load the numbers always change. */
const levelLag = 500;

export interface ConditionReport {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export function statusOf(o: Observed, decision: Decision): Status {
  const ready = voters(o).filter(isHealthy);
  const versions = voters(o).flatMap(({ status }) => (status ? [status.version] : []));
  const lowest = versions.sort(compareVersions)[0] ?? o.status.version;
  const leader = leaderOf(o)?.record.name;
  const base: Status = {
    ...o.status,
    phase: phaseOf(o, decision),
    members: o.members.map((member) => memberReport(o, member)),
    readyMembers: ready.length,
    selector: Object.entries(selectorLabels(o.cluster))
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
    version: lowest,
    targetVersion: o.status.rollout?.recipe.version,
    leader,
    comparison: comparisonNow(o),
    refusedGrowth: refusalNow(o),
    tls: tlsReport(o),
    ...newestRevision(o),
  };
  const changed = decision.do === "record" ? { ...base, ...decision.status } : base;
  return defined(changed);
}

function tlsReport({ certificates }: Observed): Status["tls"] {
  const uses = (["peer", "client"] as const).flatMap((use) => {
    const facts = certificates[use];
    if (!facts) return [];
    return [[use, { phase: facts.phase, expires: new Date(facts.expiresMs).toISOString() }] as const];
  });
  return uses.length === 0 ? undefined : Object.fromEntries(uses);
}

function memberReport(o: Observed, member: ObservedMember): Member {
  const { record, status } = member;
  const role = !status
    ? "Unknown"
    : status.learner
      ? "Learner"
      : status.leader === status.memberId
        ? "Leader"
        : "Follower";
  const lag = lagOf(o, member);
  const shown = lag === undefined ? undefined : record.phase === "Voter" && lag <= levelLag ? 0 : lag;
  return defined({
    ...record,
    role,
    version: status?.version ?? record.version,
    ready: isHealthy(member),
    lag: shown,
  });
}

/** Stored rarely, so that a busy database does not keep the API server busy. */
function newestRevision(o: Observed): Pick<Status, "lastKnownRevision" | "lastKnownAt"> {
  const newest = o.members.reduce(
    (max, { status }) => (status && status.revision > max ? status.revision : max),
    0n,
  );
  const { lastKnownRevision, lastKnownAt } = o.status;
  const known = BigInt(lastKnownRevision ?? 0);
  const age = lastKnownAt === undefined ? Number.POSITIVE_INFINITY : o.nowMs - Date.parse(lastKnownAt);
  // A time ahead means that the clock was set back.
  const isFresh = age >= 0 && age < storeEveryMs;
  if (!o.list || newest <= known || isFresh) return {};
  return { lastKnownRevision: newest.toString(), lastKnownAt: new Date(o.nowMs).toISOString() };
}

export function conditionsOf(o: Observed, decision: Decision): ConditionReport[] {
  return [available(o, decision), progressing(decision), degraded(o, decision)];
}

function available(o: Observed, decision: Decision): ConditionReport {
  const type = conditions.available;
  if (o.list) {
    return { type, status: "True", reason: reasons.quorum, message: "a majority of the voters answers" };
  }
  const isUnreachable = decision.reason === reasons.unreachable;
  const message = isUnreachable ? decision.message : "no majority of the voters answers";
  const reason = isUnreachable
    ? reasons.unreachable
    : decision.reason === reasons.hibernated
      ? reasons.hibernated
      : reasons.noQuorum;
  return { type, status: isUnreachable ? "Unknown" : "False", reason, message };
}

/** Reasons for which the operator makes no progress. */
const withoutProgress: ReadonlySet<Reason> = new Set([
  reasons.paused,
  reasons.quorumLost,
  reasons.clusterIdMismatch,
  reasons.unreachable,
  reasons.secretMissing,
  reasons.lockedOut,
]);

function progressing(decision: Decision): ConditionReport {
  const { reason, message } = decision;
  const resting = decision.do === "nothing" || decision.do === "refuse" || withoutProgress.has(reason);
  return { type: conditions.progressing, status: resting ? "False" : "True", reason, message };
}

/** Reasons that mean Degraded. */
const degrading: ReadonlySet<Reason> = new Set([
  reasons.secretMissing,
  reasons.lockedOut,
  reasons.versionRefused,
  reasons.specRefused,
  reasons.rolloutFailed,
  reasons.rollingBack,
  reasons.clusterIdMismatch,
  reasons.noQuorum,
  reasons.quorumLost,
  reasons.allDataLost,
  reasons.recovering,
  reasons.unreachable,
  reasons.unhealthy,
  reasons.healing,
  reasons.noSpace,
  reasons.corrupt,
  reasons.unknownMembers,
]);

/** Members that nobody knows are mentioned whatever else is wrong: they are often its cause. */
function withUnknown(o: Observed, message: string): string {
  const unknown = describeUnknown(o);
  return unknown === undefined || message === unknown ? message : `${message}; ${unknown}`;
}

function degraded(o: Observed, decision: Decision): ConditionReport {
  const type = conditions.degraded;
  const { reason, message } = decision;
  if (degrading.has(reason)) return { type, status: "True", reason, message: withUnknown(o, message) };
  const isStopped =
    reason === reasons.hibernated || reason === reasons.hibernating || reason === reasons.bootstrapping;
  const unhealthy = isStopped
    ? []
    : o.members.filter((member) => member.record.phase === "Voter" && !isHealthy(member));
  if (unhealthy.length > 0) {
    const names = unhealthy.map(({ record }) => record.name).join(", ");
    const message = withUnknown(o, `${names} does not serve`);
    return { type, status: "True", reason: reasons.unhealthy, message };
  }
  const unknown = describeUnknown(o);
  if (unknown !== undefined)
    return { type, status: "True", reason: reasons.unknownMembers, message: unknown };
  return { type, status: "False", reason: reasons.healthy, message: "" };
}

const phases: Partial<Record<Reason, string>> = {
  [reasons.bootstrapping]: "Creating",
  [reasons.growing]: "Growing",
  [reasons.shrinking]: "Shrinking",
  [reasons.healing]: "Healing",
  [reasons.unhealthy]: "Healing",
  [reasons.rolling]: "Rolling",
  [reasons.rollingBack]: "RollingBack",
  [reasons.quorumLost]: "QuorumLost",
  [reasons.allDataLost]: "Lost",
  [reasons.noQuorum]: "NoQuorum",
  [reasons.unreachable]: "Unknown",
  [reasons.recovering]: "Recovering",
  [reasons.hibernating]: "Hibernating",
  [reasons.hibernated]: "Hibernated",
  [reasons.paused]: "Paused",
  [reasons.clusterIdMismatch]: "Mismatch",
  [reasons.corrupt]: "Corrupt",
  [reasons.unknownMembers]: "Running",
  [reasons.noSpace]: "NoSpace",
  [reasons.defragmenting]: "Running",
  [reasons.resizing]: "Running",
  [reasons.healthy]: "Running",
  [reasons.rolloutFailed]: "Running",
  [reasons.versionRefused]: "Running",
  [reasons.specRefused]: "Refused",
  [reasons.secretMissing]: "Blocked",
  [reasons.lockedOut]: "Blocked",
};

function phaseOf(o: Observed, decision: Decision): string {
  const { reason } = decision;
  // Until it has its first full size a cluster is being created, however many members that takes.
  if (o.status.phase === "Creating" && (reason === reasons.growing || reason === reasons.settling))
    return "Creating";
  if (reason === reasons.settling) return o.status.phase ?? "Running";
  return phases[reason] ?? "Running";
}

/** Without what is undefined: absent and undefined are the same to JSON. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}
