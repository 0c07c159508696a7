/** Does what was decided. Actions stand beside each other: one that fails keeps no other from being tried. */

import { isConflict, isNotFound } from "keelson";
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { initializationKey } from "../agent/initialization.ts";
import { annotations, labels } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { Action, Plan } from "../decide/plan.ts";
import { closedGuard } from "../decide/upgrade.ts";
import { RedisError } from "../engine/errors.ts";
import { guardSetting, nowhere, type Redis, redisPort } from "../engine/redis.ts";
import type { Gathered } from "../observe/observe.ts";
import { factsOf } from "../observe/observed.ts";
import { restoreKey } from "../observe/restores.ts";
import { initJob, operatorImage } from "../resources/agent-pod.ts";
import { restoreJob } from "../resources/backup-pod.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { claimName, databaseName, ordinalOf, selectorLabels } from "../resources/names.ts";
import { migrationJob, rehearsalJob } from "../resources/upgrade-jobs.ts";
import { backupFor } from "./backups.ts";

import { releaseVolume } from "./volumes.ts";

/** What one reconcile has gathered. */
export interface Pass {
  readonly db: SampleDBObject;
  readonly ctx: SampleDBContext;
  readonly gathered: Gathered;
}

export type Doing<D extends Action["do"]> = Extract<Action, { do: D }>;

/** What could not be done, in words. The next pass looks at the state and not at the answer. */
export async function act(pass: Pass, actions: readonly Action[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const action of actions) {
    pass.ctx.signal.throwIfAborted();
    try {
      await perform(pass, action);
      pass.ctx.log.debug("done", { action });
    } catch (error) {
      if (!(error instanceof RedisError) && !isConflict(error) && !isNotFound(error)) throw error;
      problems.push(`${action.do}: ${(error as Error).message}`);
      pass.ctx.log.warn("not done", { action, message: (error as Error).message });
    }
  }
  return problems;
}

/** Lets a new primary take writes when it is recorded that it leads. If that fails, the next pass does it. */
export async function openWrites(pass: Pass, { opens, status }: Plan): Promise<void> {
  if (opens === undefined) return;
  try {
    await pass.ctx.step(`open-${opens}-${status?.epoch ?? pass.db.status?.epoch ?? 0}`, async () => {
      await open(pass, opens);
    });
  } catch (error) {
    if (!(error instanceof RedisError) && !isConflict(error)) throw error;
    pass.ctx.log.warn("not opened", { server: opens, message: error.message });
  }
}

async function open(pass: Pass, server: string): Promise<void> {
  await redisOf(pass, server).set(new Map([[guardSetting, "0"]]));
  await redisOf(pass, server).resume();
}

async function perform(pass: Pass, action: Action): Promise<void> {
  switch (action.do) {
    case "promote":
      return await promote(pass, action);
    case "follow":
      return await follow(pass, action);
    case "detach":
      for (const server of action.servers) {
        await redisOf(pass, server).follow({ host: nowhere.host, port: nowhere.portDetached });
      }
      return;
    case "handOver":
      return await handOver(pass, action);
    case "setGuard":
      return await redisOf(pass, action.server).set(new Map([[guardSetting, String(action.guard)]]));
    case "label":
      return await label(pass, action);
    case "markClaim":
      return await markClaim(pass, action);
    case "deletePod":
      return await deletePod(pass, action);
    case "deleteClaim":
      return await deleteClaim(pass, action);
    case "startInit":
      return await startInit(pass, action);
    case "deleteJobs":
      for (const key of action.keys) {
        await pass.ctx.own.jobs.delete(key);
        await pass.ctx.own.restores.delete(key);
        await pass.ctx.own.rehearsals.delete(key);
      }
      return;
    case "startRestore":
      return await startRestore(pass, action);
    case "startBackup":
      await pass.ctx.own.backups.apply(action.key, backupFor(pass.db, action.name));
      return;
    case "startRehearsal":
      return await startRehearsal(pass, action);
    case "startMigrations":
      return await startMigrations(pass, action);
    case "switchOver":
      return await switchOver(pass, action);
    case "resume":
      return await open(pass, action.server);
  }
}

/** The server must be the very process that was chosen: another one in its place may have other data. */
async function promote(pass: Pass, { server, runId }: Doing<"promote">): Promise<void> {
  const redis = redisOf(pass, server);
  const facts = await redis.facts();
  if (facts.runId !== runId) throw new RedisError("Answered", `${server} was restarted since it was chosen`);
  // It is opened when it is recorded that it leads: until then another may be chosen, without what it took.
  await redis.set(new Map([[guardSetting, String(closedGuard)]]));
  await redis.lead();
}

async function follow(pass: Pass, { servers, ip, drop }: Doing<"follow">): Promise<void> {
  for (const server of servers) {
    const redis = redisOf(pass, server);
    await redis.follow({ host: ip, port: redisPort });
    if (drop) await redis.dropClients();
  }
}

/** How long writes may be held while the replica catches up. */
const catchUpMs = 2_000;

/** How long Services get to follow before the servers change places. */
const settleMs = 250;

/**
 * Services follow first, so that a client that is sent away finds the new primary at once. Then the primary holds writes
 * until the replica has every one of them, they change places, and clients of the old one are sent to look again.
 *
 * Any answer may be lost, and the new primary may not be reached for a while. So it takes no writes before the old one
 * follows it, and its claim says that it may take some: an old one that leads still has lost nothing, nor has anybody
 * where the claim does not say so.
 *
 * FAILOVER of Redis does the same, but it waits for an acknowledgement that replicas send once a second; their own
 * offsets tell it at once.
 */
async function handOver(pass: Pass, { from, to, runId, epoch }: Doing<"handOver">): Promise<void> {
  const server = pass.gathered.observed.servers.find(({ name }) => name === to);
  const target = server?.pod?.ip;
  const identity = server && factsOf(server)?.volume;
  const [old, next] = [redisOf(pass, from), redisOf(pass, to)];
  if (target === undefined) throw new RedisError("Unreachable", `${to} has no address`);
  await next.set(new Map([[guardSetting, String(closedGuard)]]));
  await label(pass, { do: "label", server: to, role: "primary", read: false });
  await label(pass, { do: "label", server: from, role: "replica", read: true });
  await pause(pass.ctx, settleMs);
  await moveWrites(pass, { from, to, runId });
  await next.lead();
  // Not both at once: where the old one cannot be told, a mark would have everybody wait for a target that took no writes.
  await old.follow({ host: target, port: redisPort });
  const marks = { epoch, primaryEpoch: epoch, ...(identity !== undefined && { identity }) };
  await markClaim(pass, { do: "markClaim", server: to, ...marks });
  await next.set(new Map([[guardSetting, "0"]]));
  await old.dropClients();
  // A replica that is paused does not apply what its primary sends.
  await old.resume();
  await old.set(new Map([[guardSetting, "0"]]));
}

/** Ends writes on the old primary, and returns when the next one has every one of them. */
async function moveWrites(
  pass: Pass,
  { from, to, runId }: { readonly from: string; readonly to: string; readonly runId: string },
): Promise<void> {
  const { ctx } = pass;
  const [old, next] = [redisOf(pass, from), redisOf(pass, to)];
  const untilMs = ctx.clock.monotonic() + catchUpMs;
  const caughtUp = async (): Promise<void> => {
    // Both are asked at once: clients wait, and the position of the old one does not change.
    let [last, facts] = await Promise.all([old.facts(), next.facts()]);
    for (; ; facts = await next.facts()) {
      if (facts.runId !== runId) throw new RedisError("Answered", `${to} was restarted since it was chosen`);
      if (facts.offset >= last.offset) return;
      if (ctx.clock.monotonic() > untilMs)
        throw new RedisError("Answered", `${to} does not catch up with ${from}`);
      await pause(ctx, 5);
    }
  };
  await old.pauseWrites(closeMs);
  try {
    // Clients wait meanwhile; a guard would turn them away.
    await caughtUp();
    // The pause ends by itself, and what was moved must not be written to again. It may have ended already.
    await old.set(new Map([[guardSetting, String(closedGuard)]]));
    await caughtUp();
  } catch (error) {
    await old.set(new Map([[guardSetting, "0"]]));
    await old.resume();
    throw error;
  }
}

async function pause(ctx: SampleDBContext, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    ctx.clock.timer(ms, resolve);
  });
}

async function label({ db, ctx }: Pass, { server, role, read }: Doing<"label">): Promise<void> {
  const { namespace } = databaseName(db);
  const uid = ctx.read.pods.find(({ metadata }) => metadata.name === server)?.metadata.uid;
  const body = {
    metadata: {
      ...(uid === undefined ? {} : { uid }),
      labels: {
        ...selectorLabels(databaseName(db)),
        [labels.role]: role,
        [labels.read]: read ? "true" : null,
      },
    },
  };
  await ctx.client.kind(Pod).patch({ namespace, name: server }, { type: "merge", body: body as never });
}

async function markClaim(
  { db, ctx }: Pass,
  { server, epoch, primaryEpoch, identity, databases, restored, version }: Doing<"markClaim">,
): Promise<void> {
  const database = databaseName(db);
  const ordinal = ordinalOf(database, server) ?? -1;
  const uid = ctx.own.claims.get(String(ordinal))?.metadata.uid;
  const body = {
    metadata: {
      uid,
      annotations: {
        [annotations.epoch]: String(epoch),
        ...(primaryEpoch === undefined ? {} : { [annotations.primaryEpoch]: String(primaryEpoch) }),
        ...(identity === undefined ? {} : { [annotations.volume]: identity }),
        ...(databases === undefined ? {} : { [annotations.databases]: String(databases) }),
        ...(restored === undefined ? {} : { [annotations.restored]: restored }),
        ...(version === undefined ? {} : { [annotations.version]: version }),
      },
    },
  };
  const name = claimName(database, ordinal);
  await ctx.client
    .kind(PersistentVolumeClaim)
    .patch({ namespace: database.namespace, name }, { type: "merge", body: body as never });
}

async function deletePod(
  { db, ctx }: Pass,
  { server, uid, graceSeconds, why }: Doing<"deletePod">,
): Promise<void> {
  const { namespace } = databaseName(db);
  await ctx.client
    .kind(Pod)
    .delete(
      { namespace, name: server },
      { uid, ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }) },
    );
  ctx.event("Normal", "PodDeleted", `${server}: ${why}`);
}

/** Only what was seen, as the server has it now. */
async function deleteClaim({ db, ctx }: Pass, { server, uid, why }: Doing<"deleteClaim">): Promise<void> {
  const key = String(ordinalOf(databaseName(db), server) ?? -1);
  const live = await ctx.own.claims.live(key);
  if (live?.metadata.uid !== uid) return;
  if (live.spec?.volumeName && db.spec.onDelete !== "Retain") await releaseVolume(ctx, live.spec.volumeName);
  await ctx.own.claims.delete(key, { resourceVersion: live.metadata.resourceVersion });
  ctx.event("Normal", "VolumeDeleted", `the volume of ${server}: ${why}`);
}

/** How long writes wait before they are refused, so that most clients see a pause and no error. */
const closeMs = 5_000;

/**
 * The new primary takes no writes until it was verified, and the old one none any more. It stays what it is, to go back
 * to. If this is cut short, the guards of both say how far it came.
 */
async function switchOver(pass: Pass, action: Doing<"switchOver">): Promise<void> {
  const { ctx } = pass;
  const { from, to, runId, open } = action;
  const [old, next] = [redisOf(pass, from), redisOf(pass, to)];
  await next.set(new Map([[guardSetting, String(closedGuard)]]));
  await label(pass, { do: "label", server: to, role: open ? "primary" : null, read: open });
  await label(pass, { do: "label", server: from, role: "replica", read: false });
  await pause(ctx, settleMs);
  await moveWrites(pass, { from, to, runId });
  await next.lead();
  await old.dropClients();
}

async function startRehearsal(
  { db, ctx }: Pass,
  { id, backup, version }: Doing<"startRehearsal">,
): Promise<void> {
  const taken = ctx.own.backups.get(backup)?.status;
  if (!taken?.store || taken.name === undefined) return;
  const from = { store: taken.store, name: taken.name };
  const job = rehearsalJob({ db, id, from, version, image: ownImage() });
  await ctx.own.rehearsals.apply(`rehearse-${id}`, job);
}

async function startMigrations({ db, ctx }: Pass, { id, server }: Doing<"startMigrations">): Promise<void> {
  const job = migrationJob({ db, id, server, guard: closedGuard, image: ownImage() });
  await ctx.own.jobs.apply(`migrate-${id}`, job);
}

function ownImage(): string {
  const image = operatorImage();
  if (image !== undefined) return image;
  throw new RedisError(
    "Answered",
    "the operator does not know its own image; set OPERATOR_IMAGE in its Deployment",
  );
}

async function startInit({ db, ctx }: Pass, { hash }: Doing<"startInit">): Promise<void> {
  const image = ownImage();
  const database = databaseName(db);
  await ctx.own.jobs.apply(initializationKey(hash), initJob({ database, spec: db.spec, hash, image }));
}

async function startRestore({ db, ctx }: Pass, { id, server, from }: Doing<"startRestore">): Promise<void> {
  const image = ownImage();
  const ordinal = ordinalOf(databaseName(db), server) ?? 0;
  await ctx.own.restores.apply(restoreKey(id), restoreJob({ db, id, ordinal, from, image }));
}

/** The client of a server that answered in this pass. */
export function redisOf({ gathered }: Pick<Pass, "gathered">, server: string): Redis {
  const redis = gathered.answers.redis(server);
  if (redis) return redis;
  throw new RedisError("Unreachable", `${server} did not answer in this pass`);
}
