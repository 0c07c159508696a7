/** Maintenance: space, larger volumes, alarms. */
import { Quantity } from "keelson";
import { reasons } from "../api/conditions.ts";
import { hex } from "../engine/etcd.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { isSettled, isStable, lagOf, leaderOf, namesOf, purposeOf } from "./facts.ts";
import { contactFor, leave } from "./leaving.ts";
import { passLeadership, restart } from "./pods.ts";
import { refusalNow } from "./refused-growth.ts";

const levelLag = 500;
/** etcd's own quota when none is set. */
const defaultQuota = 2_147_483_648n;

/** A member whose data differs from the majority's is replaced; without a majority the user must decide. */
export function corruption(o: Observed): Decision | undefined {
  const raised = o.alarms.filter(({ type }) => type === "CORRUPT");
  if (raised.length === 0 || !o.list) return undefined;
  const reason = reasons.corrupt;
  const ids = raised.map(({ memberId }) => hex(memberId)).sort();
  const asked = o.members.filter(({ status }) => status && !status.learner);
  const members = asked.map(({ record }) => record.name);
  const { comparison } = o.status;
  const purpose = purposeOf("corrupt", ids.join(","), asked);
  if (comparison?.purpose !== purpose) {
    return {
      do: "compareHashes",
      purpose,
      members,
      reason,
      message: "etcd reports corrupt data; hashes are compared",
    };
  }
  if (!comparison.agreed) {
    const message =
      "etcd reports corrupt data and no majority of the members has the same; check the members by hand";
    return { do: "refuse", reason, message };
  }
  const odd = o.members.find(({ record }) => comparison.odd.includes(record.name));
  if (odd?.record.phase === "Leaving") return undefined;
  if (odd) return leave(o, odd, "its data is not that of the majority", reason);
  const via = contactFor(o);
  if (via === undefined) {
    const message = `the alarm is lifted when there is a leader among ${namesOf(o.members)}`;
    return { do: "wait", reason, message };
  }
  return {
    do: "disarm",
    alarms: raised,
    via,
    reason,
    message: "the members' data is the same again; the alarm is lifted",
  };
}

/** Without space etcd refuses writes, and does not recover by itself: compact, defragment, disarm. */
export function noSpace(o: Observed): Decision | undefined {
  const raised = o.alarms.filter(({ type }) => type === "NOSPACE");
  if (raised.length === 0 || !o.list) return undefined;
  const reason = reasons.noSpace;
  // Zero is etcd's own word for its default.
  const quota = BigInt(o.status.template?.recipe.quotaBytes || defaultQuota);
  // How much of the used space is data is known only after a compaction at this very revision.
  const newest = newestRevision(o);
  const full = o.members.some(({ status }) => status && fillsQuota(status.dbSizeInUseBytes, quota));
  const isDropped = o.status.space?.revision === newest.toString();
  const pausedUntilMs = isDropped ? undefined : pauseOf(o, quota);
  if (full && (isDropped || pausedUntilMs !== undefined)) {
    // The larger quota that the advice asks for is rolled out first.
    if (BigInt(o.spec.storage.quotaBytes || defaultQuota) > quota) return undefined;
    const again =
      pausedUntilMs === undefined
        ? ""
        : `; old revisions are dropped again at ${new Date(pausedUntilMs).toISOString()}`;
    const message = `the data itself fills the quota of ${quota} bytes; raise spec.storage.quotaBytes or delete keys${again}`;
    return { do: "wait", reason, message, recheckMs: 10_000 };
  }
  const members = followersFirst(o)
    .filter(({ status }) => status !== undefined)
    .map(({ record }) => record.name);
  const silent = o.members.filter(({ status }) => status === undefined);
  // It may raise the alarm again as long as it is not defragmented.
  const left = silent.length === 0 ? "" : `; ${namesOf(silent)} follows when it answers`;
  const via = contactFor(o);
  if (via === undefined) {
    const message = `etcd is out of space; old revisions are dropped when there is a leader among ${namesOf(o.members)}`;
    return { do: "wait", reason, message, recheckMs: 1_000 };
  }
  const message = `etcd is out of space; old revisions are dropped${left}`;
  return { do: "makeSpace", via, members, revision: newest, alarms: raised, quota, reason, message };
}

/** Members do not answer while they are defragmented: not at every revision, if the last time made no room. */
const makeSpaceAgainMs = 60_000;

/** Until when nothing is dropped, because that made no room under this quota; undefined when the pause is over. */
function pauseOf({ status: { space }, nowMs }: Observed, quota: bigint): number | undefined {
  if (space?.fullAt === undefined || space.quota !== quota.toString()) return undefined;
  const untilMs = Date.parse(space.fullAt) + makeSpaceAgainMs;
  // More than the whole pause means that the clock was set back.
  return untilMs > nowMs && untilMs <= nowMs + makeSpaceAgainMs ? untilMs : undefined;
}

/** Nine tenths: below that it is worth accepting writes again. */
export function fillsQuota(inUseBytes: bigint, quota: bigint): boolean {
  return inUseBytes * 10n >= quota * 9n;
}

function newestRevision(o: Observed): bigint {
  return o.members.reduce((max, { status }) => (status && status.revision > max ? status.revision : max), 0n);
}

/** A volume that has grown is used after a restart. */
export function volumes(o: Observed): Decision | undefined {
  const reason = reasons.resizing;
  const pending = o.members.find(({ claim }) => claim?.needsRestart);
  if (pending) {
    const { name } = pending.record;
    if (isStable(o) && o.members.every((member) => isSettled(o, member) && isLevel(o, member)))
      return restart(o, pending, reason, `${name} restarts to use its larger volume`);
    const message = `${name} restarts for its larger volume when every member has served for a while`;
    return { do: "wait", reason, message, recheckMs: 1_000 };
  }
  const size = Quantity.from(o.spec.storage.size);
  const isSmall = o.members.some(
    ({ claim }) => claim && !claim.deleting && Quantity.from(claim.requested).compare(size) < 0,
  );
  if (!isSmall) return undefined;
  const refused = refusalNow(o);
  if (refused) {
    const again = refused.retryAt === undefined ? "" : `; it is tried again at ${refused.retryAt}`;
    const message = `${refused.message}; take spec.storage.size back to what it was, or allow it${again}`;
    return { do: "refuse", reason, message };
  }
  const message = `the volumes grow to spec.storage.size, ${o.spec.storage.size}`;
  return { do: "wait", reason, message, recheckMs: 200 };
}

/** One member at a time, and only when everyone serves: a member does not answer while it is defragmented. */
export function defragmentation(o: Observed): Decision | undefined {
  const { spec, status } = o;
  const reason = reasons.defragmenting;
  const current = status.defragmentation;
  const due = current?.due ?? o.defragmentationDue;
  if (!spec.defragmentation || due === undefined || !o.list) return undefined;
  if (!isStable(o) || !o.members.every((member) => isSettled(o, member))) return undefined;
  const least = BigInt(spec.defragmentation.minReclaimableBytes);
  const next = followersFirst(o).find(
    ({ record, status: reported }) =>
      !current?.members.includes(record.name) &&
      reported &&
      reported.dbSizeBytes - reported.dbSizeInUseBytes >= least,
  );
  if (!next) {
    return {
      do: "record",
      status: { defragmentation: undefined, lastDefragmentation: due },
      reason,
      message: `defragmentation is over: ${current?.members.length ?? 0} members needed it`,
    };
  }
  const { name } = next.record;
  return (
    passLeadership(o, next, reason) ?? {
      do: "defragment",
      member: name,
      due,
      reason,
      message: `${name} is defragmented`,
    }
  );
}

/** A member that has just started may still have much to catch up on. */
function isLevel(o: Observed, member: ObservedMember): boolean {
  return (lagOf(o, member) ?? Number.POSITIVE_INFINITY) <= levelLag;
}

function followersFirst(o: Observed): ObservedMember[] {
  const leader = leaderOf(o);
  return [...o.members].sort((a, b) => Number(a === leader) - Number(b === leader));
}
