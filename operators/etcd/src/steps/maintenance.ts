/** Hashes, space, alarms. */

import { statusOf } from "../decide/report.ts";
import { fillsQuota } from "../decide/upkeep.ts";
import { majority } from "../engine/quorum.ts";
import { type Doing, etcdOf, type Scene } from "./step.ts";

const longMs = 120_000;

/** Asks every member for its hash at one revision that all of them have. */
export async function compareHashes(scene: Scene, decision: Doing<"compareHashes">): Promise<void> {
  const { ctx, gathered, tell } = scene;
  const { members, purpose } = decision;
  const revisions = members.map((name) => gathered.answers.statuses.get(name)?.revision ?? 0n);
  const revision = least(revisions);
  const call = { signal: ctx.signal, timeoutMs: longMs };
  const hashes = await Promise.all(
    members.map(async (name) => ({ name, ...(await etcdOf(scene, name).hashKv(revision, call)) })),
  );
  const compacted = new Set(hashes.map(({ compactRevision }) => compactRevision));
  // A compaction ran in between: the hashes speak of different stretches, so the next pass asks again.
  if (compacted.size > 1) return;
  const votes = new Map<string, number>();
  for (const { hash } of hashes) votes.set(hash, (votes.get(hash) ?? 0) + 1);
  const [[best, count] = ["", 0]] = [...votes].sort(([, a], [, b]) => b - a);
  const agreed = count >= majority(members.length);
  const odd = agreed ? hashes.filter(({ hash }) => hash !== best).map(({ name }) => name) : [];
  const comparison = { purpose, revision: revision.toString(), odd, agreed };
  ctx.setStatus({ ...statusOf(gathered.observed, decision), comparison });
  if (!agreed || odd.length > 0) {
    tell(
      "Warning",
      "HashesDiffer",
      `at revision ${revision}: ${odd.join(", ") || "no majority has the same hash"}`,
    );
  } else tell("Normal", "HashesEqual", `all members have the same data at revision ${revision}`);
}

function least(values: readonly bigint[]): bigint {
  return [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[0] ?? 0n;
}

/** Drops history up to now, gives the space back member by member, and lets writes through again if there is room. */
export async function makeSpace(scene: Scene, decision: Doing<"makeSpace">): Promise<void> {
  const { ctx, gathered, tell } = scene;
  const { members, alarms, quota } = decision;
  const [first = ""] = members;
  const call = { signal: ctx.signal, timeoutMs: longMs };
  const newest = gathered.answers.statuses.get(first)?.revision ?? 0n;
  try {
    await etcdOf(scene, first).compact(newest, call);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "Compacted")) throw error;
  }
  for (const name of members) await etcdOf(scene, name).defragment(call);
  const { dbSizeInUseBytes, revision } = await etcdOf(scene, first).status(call);
  const space = { revision: revision.toString() };
  ctx.setStatus({ ...statusOf(gathered.observed, decision), space });
  if (fillsQuota(dbSizeInUseBytes, quota)) {
    tell("Warning", "NoSpace", `history before revision ${newest} was dropped, and there is still no room`);
    return;
  }
  for (const alarm of alarms) await etcdOf(scene, first).disarm(alarm, call);
  tell("Normal", "SpaceMade", `history before revision ${newest} was dropped and the alarm lifted`);
}

export async function disarm(scene: Scene, { alarms, via, message }: Doing<"disarm">): Promise<void> {
  for (const alarm of alarms) await etcdOf(scene, via).disarm(alarm, { signal: scene.ctx.signal });
  scene.tell("Normal", "AlarmLifted", message);
}

export async function defragment(scene: Scene, decision: Doing<"defragment">): Promise<void> {
  const { ctx, gathered, tell } = scene;
  const { member, due } = decision;
  await etcdOf(scene, member).defragment({ signal: ctx.signal, timeoutMs: longMs });
  const before = gathered.observed.status.defragmentation?.members ?? [];
  const status = statusOf(gathered.observed, decision);
  ctx.setStatus({ ...status, defragmentation: { due, members: [...before, member] } });
  tell("Normal", "Defragmented", `${member} has given back its free space`);
}
