/** Hashes, space, alarms. */
import { voterCount } from "../decide/facts.ts";
import { statusOf } from "../decide/report.ts";
import { fillsQuota } from "../decide/upkeep.ts";
import { isEtcdError } from "../engine/errors.ts";
import type { KeyHash } from "../engine/etcd.ts";
import { majority } from "../engine/quorum.ts";
import { type DecisionTo, etcdOf, objectionNow, type StepContext } from "./step.ts";

/** Asks every member for its hash at one revision that all of them have. */
export async function compareHashes(step: StepContext, decision: DecisionTo<"compareHashes">): Promise<void> {
  const { ctx, gathered, event } = step;
  const { members, purpose } = decision;
  const revisions = members.map((name) => gathered.answers.statuses.get(name)?.revision ?? 0n);
  const revision = least(revisions);
  const hashes = await comparableHashes(step, members, revision);
  // A compaction ran in between: the next pass asks again.
  if (!hashes) return;
  const votes = new Map<string, number>();
  for (const { hash } of hashes) votes.set(hash, (votes.get(hash) ?? 0) + 1);
  const [[best, count] = ["", 0]] = [...votes].sort(([, a], [, b]) => b - a);
  // Of all voters: members that could not be asked agree with nobody.
  const agreed = count >= majority(Math.max(members.length, voterCount(gathered.observed)));
  const odd = agreed ? hashes.filter(({ hash }) => hash !== best).map(({ name }) => name) : [];
  const at = new Date(gathered.observed.nowMs).toISOString();
  const comparison = { purpose, revision: revision.toString(), odd, agreed, at };
  ctx.setStatus({ ...statusOf(gathered.observed, decision), comparison });
  if (!agreed || odd.length > 0) {
    event(
      "Warning",
      "HashesDiffer",
      `at revision ${revision}: ${odd.join(", ") || "no majority has the same hash"}`,
    );
  } else event("Normal", "HashesEqual", `all members have the same data at revision ${revision}`);
}

interface MemberHash extends KeyHash {
  readonly name: string;
}

/** Hashes that cover the same revisions; undefined when there are none at this moment. */
async function comparableHashes(
  step: StepContext,
  members: readonly string[],
  revision: bigint,
): Promise<readonly MemberHash[] | undefined> {
  const call = { signal: step.ctx.signal };
  const ask = async (at: bigint): Promise<readonly MemberHash[]> =>
    await Promise.all(
      members.map(async (name) => ({ name, ...(await etcdOf(step, name).hashKv(at, call)) })),
    );
  const coverTheSame = (hashes: readonly MemberHash[]) =>
    new Set(hashes.map(({ compactRevision }) => compactRevision)).size === 1;
  const hashes = await ask(revision).catch((error: unknown) => {
    // When all history was dropped and nothing was written since, 3.4 refuses the revision up to which it was dropped.
    if (!isEtcdError(error, "Compacted")) throw error;
  });
  if (hashes && coverTheSame(hashes)) return hashes;
  // A member answers with the hash that it computed at its last compaction if that covers the revision, and one that was
  // restarted since does not have it. While nothing is written, that would stay so; asked for no revision, all compute.
  const computed = await ask(0n);
  const isAtRest = computed.every((each) => each.revision === revision);
  return isAtRest && coverTheSame(computed) ? computed : undefined;
}

function least(values: readonly bigint[]): bigint {
  return [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[0] ?? 0n;
}

/** Drops history, defragments member by member, and disarms the alarm if there is space again. */
export async function makeSpace(step: StepContext, decision: DecisionTo<"makeSpace">): Promise<void> {
  const { ctx, gathered, event } = step;
  const { via, members, revision, alarms, quota } = decision;
  const call = { signal: ctx.signal };
  ctx.assertLeading();
  try {
    await etcdOf(step, via).compact(revision, call);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "Compacted")) throw error;
  }
  for (const [index, name] of members.entries()) {
    // Each takes up to minutes, in which its member does not answer. The alarm stays, so the rest is done later.
    if (index > 0 && (await objectionNow(step)) !== undefined) return;
    ctx.assertLeading();
    await etcdOf(step, name).defragment(call);
  }
  const { dbSizeInUseBytes } = await etcdOf(step, via).status(call);
  // What was written meanwhile is not dropped, so the data is not known to fill the quota at a later revision.
  const isFull = fillsQuota(dbSizeInUseBytes, quota);
  const at = new Date(ctx.clock.now()).toISOString();
  const space = {
    revision: revision.toString(),
    ...(isFull ? { fullAt: at, quota: quota.toString() } : {}),
  };
  ctx.setStatus({ ...statusOf(gathered.observed, decision), space });
  if (isFull) {
    event(
      "Warning",
      "NoSpace",
      `history before revision ${revision} was dropped, and there is still no room`,
    );
    return;
  }
  ctx.assertLeading();
  for (const alarm of alarms) await etcdOf(step, via).disarm(alarm, call);
  event("Normal", "SpaceMade", `history before revision ${revision} was dropped and the alarm lifted`);
}

export async function disarm(
  step: StepContext,
  { alarms, via, message }: DecisionTo<"disarm">,
): Promise<void> {
  step.ctx.assertLeading();
  for (const alarm of alarms) await etcdOf(step, via).disarm(alarm, { signal: step.ctx.signal });
  step.event("Normal", "AlarmLifted", message);
}

export async function defragment(step: StepContext, decision: DecisionTo<"defragment">): Promise<void> {
  const { ctx, gathered, event } = step;
  const { member, due } = decision;
  ctx.assertLeading();
  await etcdOf(step, member).defragment({ signal: ctx.signal });
  const before = gathered.observed.status.defragmentation?.members ?? [];
  const status = statusOf(gathered.observed, decision);
  ctx.setStatus({ ...status, defragmentation: { due, members: [...before, member] } });
  event("Normal", "Defragmented", `${member} has given back its free space`);
}
