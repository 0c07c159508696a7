/** Gathers: objects from the cache, answers from the servers, and what this process remembers. */

import { isNotFound, type ObjectOf } from "keelson";
import { type Job, Pod } from "keelson/kinds";
import { initialization, initializationHash, initializationKey } from "../agent/initialization.ts";
import { schemaVersionOf } from "../agent/initialize.ts";
import { reasons } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import type { SampleDBObject, Status } from "../api/sampledb.ts";
import { RedisError } from "../engine/errors.ts";
import { type Dial, type Redis, redisPort } from "../engine/redis.ts";
import { changeProblem, compareVersions, minorOf, rdbFormatOf, supportProblem } from "../engine/version.ts";
import type { Access } from "../resources/access.ts";
import { sizeProblem } from "../resources/claims.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, ordinalOf, ordinalOfClaim, serverName, tlsSecretName } from "../resources/names.ts";
import { systemUsers } from "../resources/settings.ts";
import { refusedSetting, specToRun } from "../resources/settings-to-run.ts";
import { templateHash, versionOfImage } from "../resources/stateful-set.ts";
import { type Answers, ask } from "./ask.ts";
import { type Certificates, trustOf } from "./certificates.ts";
import type { DatabaseMemory } from "./memory.ts";
import { type ClaimView, factsOf, type JobView, type Observed, type Server } from "./observed.ts";
import { restoreJobs, wishId, withKnownRestore, withUnfinishedRestore } from "./restores.ts";
import { replicasToRun, serversToRun } from "./servers-to-run.ts";
import { claimView, jobView, nodeView, podView } from "./views.ts";
import { workerView } from "./worker-view.ts";

export interface Gathered extends AsyncDisposable {
  readonly observed: Observed;
  readonly answers: Answers;
}

export interface ObserveOptions {
  readonly dial: Dial;
  readonly access: Access;
  readonly certificates: Certificates;
  readonly memory: DatabaseMemory;
  readonly trial: Observed["trial"];
}

export async function observe(
  db: SampleDBObject,
  ctx: SampleDBContext,
  { dial, access, certificates, memory, trial }: ObserveOptions,
): Promise<Gathered> {
  const database = databaseName(db);
  const { spec, metadata } = db;
  const claims = claimViews(ctx);
  const status = knownStatus(db, ctx, claims);
  const pods = await findPods(db, ctx, status);
  const answers = await ask(
    [...pods].flatMap(([ordinal, { pod }]) => {
      if (!pod.ip || pod.ended) return [];
      const name = serverName(database, ordinal);
      const connect = async () =>
        await ctx.connect({ pod: { namespace: database.namespace, name } }, redisPort);
      const tls = trustOf(certificates, pod.tls);
      const isSpare = isNotNeeded(status, name, ctx.clock.now()) && memory.mayPassOver(pod.uid);
      return [{ name, connect, isSpare, ...(tls && { tls }) }];
    }),
    {
      dial,
      signal: ctx.signal,
      credentials: { username: systemUsers.operator, password: access.operator },
    },
  );
  const nowMs = ctx.clock.now();
  const nodes = new Map(ctx.read.nodes.map((node) => [node.metadata.name, node]));
  const count = Math.max(
    serversToRun({ spec, status, database }, claims),
    1 + replicasToRun({ spec, status }),
  );
  const ordinals = new Set([...Array(count).keys(), ...pods.keys(), ...claims.keys()]);
  const servers = [...ordinals]
    .sort((a, b) => a - b)
    .map((ordinal): Server => {
      const name = serverName(database, ordinal);
      const pod = pods.get(ordinal)?.pod;
      const answer = answers.byServer.get(name);
      const node = pod?.node === undefined ? undefined : nodeView(nodes.get(pod.node));
      return {
        name,
        ordinal,
        pod,
        claim: claims.get(ordinal),
        answer,
        silentMs: pod ? memory.silentMs(pod.uid, answer, ctx.clock.monotonic()) : 0,
        busyMs: pod ? memory.busyMs(pod.uid, answer, ctx.clock.monotonic()) : 0,
        nodeLost: node?.lost ?? false,
        nodeCordoned: node?.cordoned ?? false,
      };
    });
  const version = status.imageVersion ?? spec.version;
  const content = initialization(spec, version, access.aclLines);
  const primary = servers.find(({ name }) => name === status.primary);
  const primaryFacts = primary && factsOf(primary);
  memory.forgetOthers(
    new Set(servers.flatMap(({ pod }) => (pod ? [pod.uid] : []))),
    new Set(servers.flatMap((server) => factsOf(server)?.runId ?? [])),
  );
  const followers = status.leadership?.followers ?? [];
  const addresses = new Map(servers.map(({ name, pod }) => [name, pod?.ip]));
  const leads = primaryFacts?.role === "primary" ? primaryFacts : undefined;
  const hasCaughtUp = memory.hasCaughtUp(
    spec.durability.acknowledgements,
    followers.map((name) => addresses.get(name)),
    leads?.runId === status.leadership?.runId ? leads : undefined,
  );
  const set = ctx.own.set.get();
  const initHash = initializationHash(content);
  const jobs = await Promise.all(
    jobsOf(ctx)
      .filter(([, { metadata: its }]) => its.deletionTimestamp === undefined)
      .map(async ([key, job]) => await explained(ctx, memory, key, job)),
  );
  const observed: Observed = {
    nowMs,
    database,
    generation: metadata.generation ?? 1,
    spec,
    status,
    servers,
    setReplicas: set?.spec?.replicas,
    setTemplate: set?.spec?.template?.metadata?.annotations?.[annotations.template],
    wantedTemplate: templateHash(specToRun(db, ctx.own), version),
    trial,
    jobs,
    initHash,
    schemaVersion: isJustInitialized(jobs, initHash, status)
      ? await schemaVersionAt(leads && answers.redis(status.primary ?? ""))
      : undefined,
    specProblem: specProblem(db, status, {
      ...{ access, certificates, claims },
      setting: refusedSetting(db, ctx.own),
    }),
    departures: memory.departures(followers, addresses, leads),
    caughtUp: hasCaughtUp && followers.length >= spec.replicas,
    restore: restoreWish(db, ctx, version),
    backups: new Map(
      [...ctx.own.backups.entries()].map(([key, { status: its }]) => [
        key,
        { phase: its?.phase, message: its?.failure?.message ?? "" },
      ]),
    ),
    migrationsDue: migrationsBetween(
      spec,
      status.upgrade?.from ?? version,
      status.upgrade?.to ?? spec.version,
    ),
    approvedLoss: approvedFor(metadata.annotations?.[annotations.approveLoss], status.epoch ?? 0),
    handOverTo: metadata.annotations?.[annotations.handOver],
  };
  return { observed, answers, [Symbol.asyncDispose]: async () => await answers[Symbol.asyncDispose]() };
}

/** How long a failover is under way at most, after its end was recorded. */
const failoverMs = 5_000;

/** Clients wait while somebody is made the primary: a server that was silent before is not waited for in every pass. */
function isNotNeeded({ promotion, primary, lastFailover }: Status, name: string, nowMs: number): boolean {
  const sinceMs = nowMs - Date.parse(lastFailover?.at ?? "");
  const isUnderWay = promotion !== undefined || (sinceMs >= 0 && sinceMs < failoverMs);
  return isUnderWay && name !== (promotion?.server ?? primary);
}

/**
 * Pods by ordinal. The cache holds those that carry our labels; one that is missing there is asked for by name, since
 * someone may have changed its labels.
 */
async function findPods(db: SampleDBObject, ctx: SampleDBContext, status: Status) {
  const database = databaseName(db);
  const found = new Map<number, { pod: ReturnType<typeof podView> }>();
  for (const pod of ctx.read.pods) {
    const ordinal = ordinalOf(database, pod.metadata.name);
    if (ordinal !== undefined) found.set(ordinal, { pod: podView(pod, database) });
  }
  const known = (status.servers ?? []).flatMap(({ name }) => ordinalOf(database, name) ?? []);
  for (const ordinal of known.filter((each) => !found.has(each) && ctx.own.claims.get(String(each)))) {
    const name = serverName(database, ordinal);
    try {
      const pod = await ctx.client.kind(Pod).get({ namespace: database.namespace, name });
      found.set(ordinal, { pod: podView(pod, database) });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return found;
}

/** A Job says only that it failed; the last of its pods says why. It is asked once. */
async function explained(
  ctx: SampleDBContext,
  memory: DatabaseMemory,
  key: string,
  job: ObjectOf<typeof Job>,
): Promise<JobView> {
  const view = jobView(key, job);
  const { uid, name, namespace = "default" } = job.metadata;
  if (view.state !== "failed") return view;
  const known = memory.failures.get(uid);
  if (known !== undefined) return { ...view, ...known };
  const { items } = await ctx.client
    .kind(Pod)
    .list({ namespace, labels: `batch.kubernetes.io/job-name=${name}` });
  const said = [...items]
    .sort((a, b) => Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp))
    .map(workerView)
    .findLast(({ state }) => state === "failed");
  const why = said?.state === "failed" ? { reason: said.reason, message: said.message } : {};
  memory.failures.set(uid, { message: view.message, ...why });
  return { ...view, ...why };
}

/** Its Job has succeeded, and that is not recorded yet. */
function isJustInitialized(jobs: readonly JobView[], initHash: string, { initialized }: Status): boolean {
  const job = jobs.find(({ key }) => key === initializationKey(initHash));
  return job?.state === "succeeded" && initialized !== initHash;
}

/** The data may have more migrations than the spec names, as when it came from a backup of a later schema. */
async function schemaVersionAt(primary: Redis | undefined): Promise<number | undefined> {
  try {
    return primary && (await schemaVersionOf(primary));
  } catch (error) {
    if (error instanceof RedisError) return undefined;
    throw error;
  }
}

/** How many migrations only the newer version runs. While an upgrade is under way, servers are made with it already. */
function migrationsBetween(spec: SampleDBObject["spec"], from: string, to: string): number {
  const [before, after] = [from, to].map((version) => initialization(spec, version, []).migrations.length);
  return Math.max(0, (after ?? 0) - (before ?? 0));
}

/** An approval is for one loss: it names the epoch that ended, so that it does not speak for the next. */
function approvedFor(value: string | undefined, epoch: number): string | undefined {
  const [server, of] = value?.split("@") ?? [];
  return of === String(epoch) ? server : undefined;
}

function restoreWish({ spec }: SampleDBObject, ctx: SampleDBContext, version: string): Observed["restore"] {
  const { restoreFrom } = spec;
  if (!restoreFrom) return undefined;
  const id = wishId(restoreFrom);
  const { aside, store, name, backup, allowUnverified } = restoreFrom;
  if (aside !== undefined) return { id, keys: undefined, source: { aside } };
  if (store && name !== undefined) return { id, keys: undefined, source: { store, name, allowUnverified } };
  const found = ctx.read.restoreFrom;
  const { phase, store: where, name: called, keys, rdbVersion = 0, redisVersion = "" } = found?.status ?? {};
  const final = phase === "Failed" || phase === "Removed";
  if (phase !== "Done" || !where || called === undefined) {
    const problem = found
      ? `SampleDBBackup ${backup} is ${phase ?? "not taken yet"}${final ? "; name another one in spec.restoreFrom" : ""}`
      : `there is no SampleDBBackup ${backup}, which spec.restoreFrom names`;
    return { id, keys: undefined, source: { problem, final } };
  }
  if (rdbVersion > (rdbFormatOf(version) ?? rdbVersion)) {
    const newer = minorOf(redisVersion);
    const problem = `SampleDBBackup ${backup} was taken by Redis ${newer}, which Redis ${version} cannot read; set spec.version to ${newer}, or name another one in spec.restoreFrom`;
    return { id, keys, source: { problem, final: true } };
  }
  return { id, keys, source: { store: where, name: called, allowUnverified } };
}

function jobsOf({ own }: SampleDBContext) {
  return [...own.jobs.entries(), ...own.restores.entries(), ...own.rehearsals.entries()];
}

/** By ordinal. */
export function claimViews(ctx: SampleDBContext): ReadonlyMap<number, ClaimView> {
  return new Map(
    [...ctx.own.claims.entries().values()].flatMap((claim) => {
      const ordinal = ordinalOfClaim(claim.metadata.name);
      return ordinal === undefined ? [] : [[ordinal, claimView(claim)] as const];
    }),
  );
}

/** The status, with what else is known of it when it was lost. */
export function knownStatus(
  db: SampleDBObject,
  ctx: SampleDBContext,
  claims: ReadonlyMap<number, ClaimView> = claimViews(ctx),
): Status {
  const database = databaseName(db);
  const jobs = restoreJobs(database, jobsOf(ctx));
  const status = withKnownRestore(
    db,
    withUnfinishedRestore(database, ownStatus(db), { jobs, claims }),
    claims,
  );
  const filled = [...claims.values()].filter(({ epoch = 0, lost }) => epoch > 0 && !lost);
  const { imageVersion = filled.length > 0 ? newestVersion(db, ctx, filled) : undefined, ...rest } = status;
  const isUndecided = filled.length === 0 && isNew(rest, jobs);
  return imageVersion === undefined || isUndecided ? rest : { ...rest, imageVersion };
}

/** There is no data yet, nor is any being put in place: a version that was a mistake is corrected like anything else. */
function isNew(
  { epoch, promotion, restore, restores = [] }: Status,
  jobs: ReturnType<typeof restoreJobs>,
): boolean {
  const hasBegun = restore?.phase === "Filling" && jobs.some(({ id }) => id === restore.id);
  const isFilled = restore?.phase === "Starting" || restore?.phase === "Done" || hasBegun;
  return epoch === undefined && !promotion && !isFilled && restores.length === 0;
}

/** The newest version that data is of, or that servers run or are to run: no older one reads it. */
function newestVersion(
  db: SampleDBObject,
  ctx: SampleDBContext,
  claims: readonly ClaimView[],
): string | undefined {
  const database = databaseName(db);
  const pods = ctx.read.pods.filter(({ metadata }) => ordinalOf(database, metadata.name) !== undefined);
  const specs = [ctx.own.set.get()?.spec?.template?.spec, ...pods.map(({ spec }) => spec)];
  const images = specs.map((spec) => spec?.containers.find(({ name }) => name === "redis")?.image);
  return [...images.map(versionOfImage), ...claims.map(({ version }) => version)]
    .filter((version) => version !== undefined)
    .sort(compareVersions)
    .at(-1);
}

export function ownStatus({ status = {} }: SampleDBObject): Status {
  const {
    conditions: _,
    observedGeneration: __,
    inventory: ___,
    steps: ____,
    ...own
  } = status as Status & Record<string, unknown>;
  return own as Status;
}

/** What the spec asks for and cannot be had. Everything else of it is followed. */
function specProblem(
  db: SampleDBObject,
  status: Status,
  {
    access,
    certificates,
    claims,
    setting,
  }: {
    readonly access: Access;
    readonly certificates: Certificates;
    readonly claims: ReadonlyMap<number, ClaimView>;
    readonly setting: string | undefined;
  },
): Observed["specProblem"] {
  const { spec } = db;
  if (setting !== undefined) return { reason: reasons.settingRefused, message: setting };
  if (access.problem !== undefined) return { reason: reasons.secretInvalid, message: access.problem };
  const secret = tlsSecretName(databaseName(db), spec);
  if (secret !== undefined && certificates.get(secret)?.fingerprint === undefined)
    return {
      reason: reasons.secretInvalid,
      message: `the Secret ${secret} lacks a valid tls.crt, tls.key or ca.crt`,
    };
  const { upgrade, imageVersion } = status;
  // An upgrade that can go back is given up when the spec asks for another version.
  const runs = upgrade && !upgrade.pointOfNoReturn ? upgrade.from : imageVersion;
  const version = supportProblem(spec.version) ?? (runs && changeProblem(runs, spec.version));
  if (version) return { reason: reasons.versionRefused, message: version };
  const size = sizeProblem(spec, claims.values());
  return size === undefined ? undefined : { reason: reasons.resizeRefused, message: size };
}
