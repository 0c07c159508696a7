/** The end of a database: a last backup that is proven, then the servers, and their volumes as the spec says. */
import { wereReleased } from "@keelson/kit";
import { done, type ObjectOf, type Outcome, waiting } from "keelson";
import { Namespace, Pod, PodDisruptionBudget, Secret, Service } from "keelson/kinds";
import type { SampleDBBackup } from "../api/backup.ts";
import { reasons } from "../api/conditions.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import { claimToRead, leaderToCopy } from "../decide/last-copy.ts";
import { closedGuard } from "../decide/upgrade.ts";
import { type Dial, guardSetting, redisPort } from "../engine/redis.ts";
import { type Answers, ask } from "../observe/ask.ts";
import { type Certificates, trustOf } from "../observe/certificates.ts";
import { claimViews } from "../observe/observe.ts";
import type { Answer } from "../observe/observed.ts";
import { claimView, jobView, nodeView, podView, tlsSecretOf } from "../observe/views.ts";
import { lastConfigMap } from "../resources/config.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { claimName, databaseName, objectNames, ownId } from "../resources/names.ts";
import { decoded } from "../resources/secrets.ts";
import { writesService } from "../resources/services.ts";
import { systemUsers } from "../resources/settings.ts";
import { backupFor } from "./backups.ts";
import { applyBackupsClaim } from "./objects.ts";
import { releaseVolume, tellKept, volumesOf } from "./volumes.ts";

export interface FinalizeOptions {
  readonly dial: Dial;
  readonly certificates: Certificates;
}

/** How long servers whose pods are ready get to answer before a volume is read instead. */
const answerMs = 30_000;
/** Nobody listens where a connection is refused, and who shuts the operator out goes on to do so. */
const mayAnswer: ReadonlySet<Answer["state"]> = new Set(["silent", "busy", "loading"]);
/** How long servers get to stop before a last backup without them is given up. */
const stopMs = 120_000;
/** Clients wait while the last copy is taken. The pause ends by itself, and writes are refused then. */
const pauseMs = 30_000;

export async function finalize(
  db: SampleDBObject,
  ctx: SampleDBContext,
  options: FinalizeOptions,
): Promise<Outcome> {
  if (ctx.orphaned ?? (await isOrphaned(db, ctx))) {
    ctx.event("Normal", "Orphaned", "everything is left as it is; a SampleDB of the same name takes it over");
    return done();
  }
  const { onDelete } = db.spec;
  let keep = onDelete === "Retain" ? "spec.onDelete is Retain" : undefined;
  if (onDelete === "Snapshot") {
    const snapshot = await finalSnapshot(db, ctx, options);
    if (snapshot === "taken") keep = undefined;
    else if ("impossible" in snapshot) keep = `no snapshot could be taken: ${snapshot.impossible}`;
    else return snapshot;
  }
  // Told before the servers stop: in a namespace that goes, the claims go with them.
  if (keep !== undefined) await tellVolumes(db, ctx, keep);
  const left = await stopServers(ctx);
  if (left.length > 0)
    return waiting(reasons.deleting, `the servers are stopping: ${left.join(", ")}`, { recheckMs: 1_000 });
  const claims = ctx.own.claims.entries();
  if (keep === undefined) {
    for (const [key, claim] of claims) {
      if (claim.spec?.volumeName) await releaseVolume(ctx, claim.spec.volumeName);
      await ctx.own.claims.delete(key);
    }
    const claimsLeft = ctx.own.claims.list().map(({ metadata }) => metadata.name);
    if (claimsLeft.length > 0)
      return waiting(reasons.deleting, `the claims are being deleted: ${claimsLeft.join(", ")}`, {
        recheckMs: 1_000,
      });
  }
  const { own } = ctx;
  // The garbage collector takes along what was adopted. What an orphaned database of this name left may not be adopted yet.
  for (const slot of [own.writes, own.reads, own.primaryBudget, own.replicaBudget, own.binding])
    await slot.delete();
  for (const slot of [
    own.config,
    own.credentials,
    own.internal,
    own.acl,
    own.authority,
    own.certificate,
    own.servers,
  ])
    await slot.delete();
  return done();
}

async function tellVolumes(db: SampleDBObject, ctx: SampleDBContext, why: string): Promise<void> {
  const volumes = await volumesOf(db, ctx);
  await tellKept(db, ctx, volumes, why);
  const type = db.spec.onDelete === "Retain" ? "Normal" : "Warning";
  if (volumes.length > 0)
    ctx.event(type, reasons.volumeKept, `the volumes ${volumes.join(", ")} are kept: ${why}`);
}

/**
 * Deleted with its dependents to be left alone (`--cascade=orphan`): the garbage collector has taken our references off
 * them, or is about to.
 */
async function isOrphaned(db: SampleDBObject, ctx: SampleDBContext): Promise<boolean> {
  const { name, namespace } = databaseName(db);
  const names = objectNames({ name });
  const found = [
    ...(await Promise.all(
      [names.writes, names.reads].map(
        async (each) => await ctx.client.kind(Service).find({ namespace, name: each }),
      ),
    )),
    ...(await Promise.all(
      [names.primaryBudget, names.replicaBudget].map(
        async (each) => await ctx.client.kind(PodDisruptionBudget).find({ namespace, name: each }),
      ),
    )),
    await ctx.client.kind(Secret).find({ namespace, name: names.binding }),
  ];
  return wereReleased(db, found);
}

async function isNamespaceGoing(db: SampleDBObject, ctx: SampleDBContext): Promise<boolean> {
  const { namespace } = databaseName(db);
  const found = await ctx.client.kind(Namespace).find({ name: namespace });
  return found?.metadata.deletionTimestamp !== undefined;
}

/** The pods and Jobs that are left, with their nodes where those do not answer. */
async function stopServers(ctx: SampleDBContext): Promise<string[]> {
  await ctx.own.set.delete();
  for (const job of ctx.own.jobs.entries().keys()) await ctx.own.jobs.delete(job);
  for (const job of ctx.own.rehearsals.entries().keys()) await ctx.own.rehearsals.delete(job);
  const filling = await stopRestores(ctx);
  for (const pod of ctx.read.pods.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && !ctx.own.set.get(),
  )) {
    const { namespace, name, uid } = pod.metadata;
    await ctx.client.kind(Pod).delete({ namespace, name }, { uid });
  }
  const nodes = new Map(ctx.read.nodes.map((node) => [node.metadata.name, node]));
  const servers = ctx.read.pods.map(({ metadata: { name }, spec }) => {
    const node = spec?.nodeName;
    if (node === undefined || !nodeView(nodes.get(node)).lost) return name;
    return `${name} (its node ${node} does not answer)`;
  });
  return [...servers, ...filling];
}

/** Those that may still write to a volume: a Job that is deleted so is there until its pods are gone. */
async function stopRestores(ctx: SampleDBContext): Promise<string[]> {
  const left: string[] = [];
  for (const [key, job] of ctx.own.restores.entries()) {
    const runs = jobView(key, job).state === "running";
    if (job.metadata.deletionTimestamp === undefined)
      await ctx.own.restores.delete(key, { propagation: runs ? "Foreground" : "Background" });
    if (runs) left.push(`Job ${job.metadata.name}`);
  }
  return left;
}

/** Whether anyone ever led. The claims know it too: a status may be lost. */
function hasData({ status }: SampleDBObject, ctx: SampleDBContext): boolean {
  if (status?.epoch !== undefined || status?.promotion) return true;
  return [...ctx.own.claims.entries().values()].some((claim) => (claimView(claim).epoch ?? 0) > 0);
}

type Snapshot = "taken" | { readonly impossible: string } | Outcome;

/** Hot while a primary answers; cold, from its volume, when none does. */
async function finalSnapshot(
  db: SampleDBObject,
  ctx: SampleDBContext,
  options: FinalizeOptions,
): Promise<Snapshot> {
  const { status, metadata } = db;
  if (!hasData(db, ctx)) return "taken";
  if (await isNamespaceGoing(db, ctx)) return { impossible: "the namespace is being deleted" };
  const id = ownId(metadata);
  // Snapshots outlive their database, and one of the same name takes them over: what another left is not ours.
  const [hot, cold] = [ctx.own.backups.get(`final-${id}`), ctx.own.backups.get(`final-cold-${id}`)];
  if (hot?.status?.phase === "Done" || cold?.status?.phase === "Done") {
    const name = (hot?.status?.phase === "Done" ? hot : cold)?.metadata.name;
    if (status?.finalBackup !== name)
      ctx.event("Normal", reasons.finalSnapshot, `the last snapshot is ${name}`);
    return "taken";
  }
  if (cold?.status?.phase === "Failed") return { impossible: cold.status.failure?.message ?? "it failed" };
  await keepForSnapshot(db, ctx);
  if (cold)
    return waiting(reasons.finalSnapshot, `${cold.metadata.name} reads the volume`, { recheckMs: 5_000 });
  if (hot?.status?.phase !== "Failed") {
    const { reached, late } = await quiesce(db, ctx, options);
    if (hot && (reached || hot.status?.phase === "Copying"))
      return waiting(reasons.finalSnapshot, `${hot.metadata.name} is being taken`, { recheckMs: 5_000 });
    const patience = reached ? undefined : awaitAnswer(db, ctx, { late, hot });
    if (patience) return patience;
    if (reached) {
      const name = `${metadata.name}-final-${id}`;
      const ordered = await order(ctx, `final-${id}`, backupFor(db, name, { primary: true }));
      return ordered ?? waiting(reasons.finalSnapshot, `${name} is being taken`, { recheckMs: 5_000 });
    }
  }
  return await coldSnapshot(db, ctx, id);
}

/**
 * A server whose pod is ready may only be late with its answer, and holds what a full volume does not: with its end that is
 * lost. Undefined when nobody is awaited any longer.
 */
function awaitAnswer(
  db: SampleDBObject,
  ctx: SampleDBContext,
  asked: {
    readonly late: readonly string[];
    readonly hot: ObjectOf<typeof SampleDBBackup> | undefined;
  },
): Outcome | undefined {
  const database = databaseName(db);
  const awaited = asked.late.filter((name) =>
    ctx.read.pods.some((pod) => pod.metadata.name === name && podView(pod, database).ready),
  );
  const since = Math.max(
    ...[db.metadata.deletionTimestamp, asked.hot?.metadata.creationTimestamp].map(
      (at) => Date.parse(at ?? "") || 0,
    ),
  );
  const agoMs = ctx.clock.now() - since;
  // A clock may have been set back.
  if (awaited.length === 0 || agoMs >= answerMs || agoMs < 0) return undefined;
  const names = awaited.join(", ");
  const message = `${names} must answer for the last snapshot; without an answer a volume is read instead, ${answerMs / 1_000} s after the deletion`;
  return waiting(reasons.finalSnapshot, message, { recheckMs: 500 });
}

/** Someone may delete these meanwhile, and the pod that takes the snapshot would wait for them. */
async function keepForSnapshot(db: SampleDBObject, ctx: SampleDBContext): Promise<void> {
  const { own } = ctx;
  const database = databaseName(db);
  await applyBackupsClaim(db, ctx);
  if (own.config.get()) return;
  const servers = Math.max(0, ...claimViews(ctx).keys()) + 1;
  await own.config.apply(lastConfigMap(database, servers));
}

async function coldSnapshot(db: SampleDBObject, ctx: SampleDBContext, id: string): Promise<Snapshot> {
  const left = await stopServers(ctx);
  if (left.length > 0) {
    const since = ctx.clock.now() - Date.parse(db.metadata.deletionTimestamp ?? "");
    if (since < stopMs)
      return waiting(reasons.finalSnapshot, `the volume is read when ${left.join(", ")} has stopped`, {
        recheckMs: 1_000,
      });
    return { impossible: `${left.join(", ")} does not stop, so its volume cannot be read` };
  }
  const database = databaseName(db);
  const claims = [...claimViews(ctx)].map(([ordinal, view]) => ({
    name: claimName(database, ordinal),
    ...view,
  }));
  const best = claimToRead(db.status ?? {}, claims);
  if (!best) return { impossible: "no volume with data is there to be read" };
  const ordered = await order(
    ctx,
    `final-cold-${id}`,
    backupFor(db, `${db.metadata.name}-final-cold-${id}`, { cold: best.name }),
  );
  return ordered ?? waiting(reasons.finalSnapshot, `the volume ${best.name} is read`, { recheckMs: 5_000 });
}

/** Where nothing can be made any more the whole namespace goes. */
async function order(
  ctx: SampleDBContext,
  key: string,
  backup: ReturnType<typeof backupFor>,
): Promise<{ impossible: string } | undefined> {
  try {
    await ctx.own.backups.apply(key, backup);
    ctx.event("Normal", reasons.finalSnapshot, `${backup.metadata.name} is taken before anything is removed`);
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== 403 || !message.includes("being terminated")) throw error;
    return { impossible: "the namespace is being deleted" };
  }
}

/** Nobody writes any more: the Service leads nowhere, and writes of clients that are connected wait. */
async function quiesce(
  db: SampleDBObject,
  ctx: SampleDBContext,
  options: FinalizeOptions,
): Promise<{ readonly reached: boolean; readonly late: readonly string[] }> {
  const database = databaseName(db);
  if (ctx.own.writes.get()) await ctx.own.writes.apply(writesService(database, false));
  await using answers = await askAll(db, ctx, options);
  const servers = [...answers.byServer].flatMap(([name, answer]) =>
    answer.state === "facts" ? [{ name, facts: answer.facts }] : [],
  );
  const leader = leaderToCopy(db.status ?? {}, servers);
  const late = [...answers.byServer].flatMap(([name, { state }]) => (mayAnswer.has(state) ? [name] : []));
  if (leader === undefined) return { reached: false, late };
  const redis = answers.redis(leader);
  await redis?.pauseWrites(pauseMs);
  // For good: what is written after the copy would be lost with the volumes.
  await redis?.set(new Map([[guardSetting, String(closedGuard)]]));
  return { reached: true, late };
}

async function askAll(
  db: SampleDBObject,
  ctx: SampleDBContext,
  { dial, certificates }: FinalizeOptions,
): Promise<Answers> {
  const { namespace } = databaseName(db);
  const password = decoded(ctx.own.internal.get())[systemUsers.operator] ?? "";
  const reachable = ctx.read.pods
    .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.podIP)
    .map(({ metadata: { name }, spec }) => {
      const tls = trustOf(certificates, tlsSecretOf(spec));
      const connect = async () => await ctx.connect({ pod: { namespace, name } }, redisPort);
      return { name, connect, ...(tls && { tls }) };
    });
  return await ask(reachable, {
    dial,
    signal: ctx.signal,
    credentials: { username: systemUsers.operator, password },
  });
}
