/** Jobs: pods that run until enough of them succeeded, or too many failed. */
import { formatTime, labelSelectorFrom, objectKey, parseKey } from "@keelson/core";
import { Job, type JobCondition, type JobStatus, Pod } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { claimed } from "../ownership/claim.ts";
import { candidatesFor, ownerIndexes, ownersOf } from "../ownership/owner-index.ts";
import { controllerOfObject } from "../ownership/owner-reference.ts";
import { type Backoff, noBackoff } from "./backoff.ts";
import { isSuspended, isTracked, type JobObject, trackingFinalizer } from "./job-pods.ts";
import { deadlineMs, endOf, isFinished, jobCondition, startedMs } from "./job-result.ts";
import { nextMoves } from "./moves.ts";
import { createPods, release, removePods } from "./pods-of-job.ts";
import { settle } from "./settlement.ts";
import { type Survey, survey } from "./survey.ts";

/** Keys of pods that are held for a job which they no longer have. */
const orphan = "orphan:";

function* jobsOfPod(
  change: Change<PodObject>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  yield* ownersOf(Job, "jobs")(change, caches);
  const { object } = change;
  if (change.type !== "deleted" && isTracked(object) && controllerOfObject(object)?.kind !== "Job") {
    yield orphan + objectKey(object);
  }
}

const watches = {
  jobs: watch(Job),
  pods: watch(Pod, { indexes: ownerIndexes, keys: jobsOfPod }),
};

type Context = RawContext<typeof watches>;

/** Pods end in waves: what they change is looked at together, a moment after the first of them. */
const batchMs = 200;

/** Whether to wait for more changes of pods; when not, the wait is over. */
function isGathering(ctx: Context, key: string, due: Map<string, number>): boolean {
  const nowMs = ctx.clock.now();
  const isPodsOnly = ctx.causes.every(({ type, kind }) => kind === "Pod" || type === "timer");
  const end = due.get(key) ?? (ctx.causes.some(({ kind }) => kind === "Pod") ? nowMs + batchMs : nowMs);
  if (!isPodsOnly || ctx.causes.length === 0 || end <= nowMs) {
    due.delete(key);
    return false;
  }
  due.set(key, end);
  ctx.recheck(end - nowMs);
  return true;
}

export function jobController(): RawController {
  const backoffs = new Map<string, Backoff>();
  const due = new Map<string, number>();
  return rawController({
    name: "job-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(Job, "status", ["update"]), allow(Pod, ["create", "patch", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      if (key.startsWith(orphan)) return await releaseOrphan(ctx, key.slice(orphan.length));
      const job = ctx.caches.jobs.get(key);
      if (!job || isFinished(job)) backoffs.delete(key);
      if (!job) return await releaseAll(ctx, key);
      if (job.spec.managedBy !== undefined && job.spec.managedBy !== "kubernetes.io/job-controller") return;
      if (isFinished(job)) return await releaseLeftovers(ctx, job);
      if (isGathering(ctx, key, due)) return;
      await reconcile(ctx, key, job, backoffs);
    }),
  });
}

/** The pod belongs to no job: nobody will count it. */
async function releaseOrphan(ctx: Context, key: string): Promise<void> {
  const pod = ctx.caches.pods.get(key);
  if (pod && controllerOfObject(pod)?.kind !== "Job") await release(ctx, pod);
}

/** The job is gone: nobody will count its pods. */
async function releaseAll(ctx: Context, key: string): Promise<void> {
  const { namespace, name } = parseKey(key);
  for (const pod of ctx.caches.pods.list(namespace)) {
    const owner = controllerOfObject(pod);
    if (owner?.kind === "Job" && owner.name === name) await release(ctx, pod);
  }
}

async function releaseLeftovers(ctx: Context, job: JobObject): Promise<void> {
  for (const pod of ctx.caches.pods.byIndex("owner", job.metadata.uid)) await release(ctx, pod);
}

async function reconcile(
  ctx: Context,
  key: string,
  job: JobObject,
  backoffs: Map<string, Backoff>,
): Promise<void> {
  const selector = labelSelectorFrom(job.spec.selector);
  const claim = { owner: job, ownerKind: Job, kind: Pod, selector, finalizers: [trackingFinalizer] };
  const pods = await claimed(ctx, claim, candidatesFor(ctx.caches.pods, job));
  const nowMs = ctx.clock.now();
  const seen = survey(job, pods, backoffs.get(key) ?? noBackoff);
  const startTime = job.status?.startTime ?? (isSuspended(job) ? undefined : formatTime(nowMs));
  const began = startedMs(job) ?? (startTime === undefined ? undefined : nowMs);
  const ending = endOf(seen, began, nowMs);
  const moved = ending ? await windDown(ctx, seen, ending) : await moveOn(ctx, seen, startTime, nowMs);
  const status: JobStatus = {
    ...job.status,
    ...(moved.startTime === undefined ? {} : { startTime: moved.startTime }),
    conditions: moved.conditions,
    active: moved.active,
    ready: moved.ready,
    terminating: moved.terminating,
  };
  if (moved.startTime === undefined) delete status.startTime;
  await settle(ctx, seen, status, moved.finish, nowMs, () => backoffs.set(key, seen.backoff));
  if (moved.error !== undefined) throw moved.error;
  const deadline = ending ? undefined : deadlineMs(job, began, nowMs);
  if (deadline !== undefined) ctx.recheck(deadline);
}

/** Where the pods stand after our moves. */
interface Moved {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  readonly conditions: JobCondition[];
  readonly startTime: string | undefined;
  /** The job ends with this. */
  readonly finish: JobCondition | undefined;
  readonly error: unknown;
}

/** The job ends: whatever runs is removed. */
async function windDown(ctx: Context, seen: Survey, ending: JobCondition): Promise<Moved> {
  const { job, active } = seen;
  const removed = await removePods(ctx, job, active, false);
  return {
    active: active.length - removed.done,
    ready: seen.ready - removed.ready,
    terminating: seen.terminating + removed.done,
    conditions: [...(job.status?.conditions ?? [])],
    startTime: job.status?.startTime ?? formatTime(ctx.clock.now()),
    finish: removed.done === active.length ? ending : undefined,
    error: removed.error,
  };
}

/** The job goes on: pods are made and removed as it needs. */
async function moveOn(
  ctx: Context,
  seen: Survey,
  startTime: string | undefined,
  nowMs: number,
): Promise<Moved> {
  const { job } = seen;
  const before = { conditions: [...(job.status?.conditions ?? [])], startTime, error: undefined as unknown };
  let { length: active } = seen.active;
  let { ready, terminating } = seen;
  if (job.metadata.deletionTimestamp !== undefined) {
    return { ...before, active, ready, terminating, finish: undefined };
  }
  const moves = nextMoves(seen, nowMs);
  if (moves.recheckMs !== undefined) ctx.recheck(moves.recheckMs);
  if (moves.remove.length > 0) {
    const removed = await removePods(ctx, job, moves.remove, true);
    active -= removed.done;
    ready -= removed.ready;
    terminating += removed.done;
    before.error = removed.error;
  }
  if (moves.create.length > 0) {
    const created = await createPods(ctx, job, moves.create);
    active += created.done;
    before.error = created.error;
  }
  const { completions } = job.spec;
  const isComplete =
    active === 0 && (completions === undefined ? seen.succeeded > 0 : seen.succeeded >= completions);
  if (isComplete) {
    const message = "Reached expected number of succeeded pods";
    const finish = jobCondition("SuccessCriteriaMet", "True", "CompletionsReached", message, nowMs);
    return { ...before, active, ready, terminating, finish };
  }
  return {
    ...before,
    ...suspension(ctx, job, startTime, nowMs),
    active,
    ready,
    terminating,
    finish: undefined,
  };
}

/** Says when a job is held back and when it is let go; the clock of its deadline starts again then. */
function suspension(
  ctx: Context,
  job: JobObject,
  startTime: string | undefined,
  nowMs: number,
): { conditions: JobCondition[]; startTime: string | undefined } {
  const conditions = [...(job.status?.conditions ?? [])];
  const current = conditions.find(({ type }) => type === "Suspended");
  const is = isSuspended(job);
  if ((current?.status === "True") === is) return { conditions, startTime };
  const next = jobCondition(
    "Suspended",
    is ? "True" : "False",
    is ? "JobSuspended" : "JobResumed",
    is ? "Job suspended" : "Job resumed",
    nowMs,
  );
  ctx.event(job, "Normal", is ? "Suspended" : "Resumed", next.message ?? "");
  return {
    conditions: current ? conditions.map((each) => (each === current ? next : each)) : [...conditions, next],
    startTime: is ? undefined : formatTime(nowMs),
  };
}
