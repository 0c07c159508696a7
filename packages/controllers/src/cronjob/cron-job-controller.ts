/** Cron jobs: start jobs at their times, keep account of them and clear away old ones. */
import { isAlreadyExists, isNotFound } from "@keelson/client";
import { deepEqual, formatTime, objectKey } from "@keelson/core";
import { type CronSchedule, clockIn, parseSchedule } from "@keelson/core/internal";
import { CronJob, type CronJobStatus, Job, type ObjectReference } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { controllerOf, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import {
  controllerManager,
  isNamespaceTerminating,
  serverMessage,
  yieldingToOthers,
} from "../acting/acting.ts";
import { ControllerError } from "../acting/errors.ts";
import type { JobObject } from "../job/job-pods.ts";
import { ownerIndexes } from "../ownership/owner-index.ts";
import { isControlledBy } from "../ownership/owner-reference.ts";
import { account, outdatedJobs, statusWith } from "./active-jobs.ts";
import { type CronJobObject, dueTime, nextLookMs } from "./due-time.ts";
import { jobFromTemplate, jobNameAt } from "./job-from-template.ts";

const watches = {
  cronJobs: watch(CronJob),
  jobs: watch(Job, { indexes: { owner: ownerIndexes.owner }, keys: controllerOf(CronJob) }),
};

type Context = RawContext<typeof watches>;

export function cronJobController(): RawController {
  /** The schedule that was looked at last, by UID: a new one begins with its next time, not with a missed one. */
  const schedules = new Map<string, string>();
  return rawController({
    name: "cronjob-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(CronJob, "status", ["update"]), allow(Job, ["create", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const cronJob = ctx.caches.cronJobs.get(key);
      if (cronJob) await reconcile(ctx, cronJob, schedules);
    }),
  });
}

async function reconcile(
  ctx: Context,
  cronJob: CronJobObject,
  schedules: Map<string, string>,
): Promise<void> {
  const jobs = ctx.caches.jobs.byIndex("owner", cronJob.metadata.uid);
  const removed = new Set<string>();
  for (const job of outdatedJobs(cronJob, jobs)) {
    if (await deleteJob(ctx, cronJob, job)) removed.add(job.metadata.uid);
  }
  const active = cronJob.status?.active?.filter(({ uid }) => !removed.has(uid ?? ""));
  const left = { ...cronJob, status: statusWith(cronJob.status, { active }) };
  const { status: seen, told } = account(left, jobs, await missingJobs(ctx, left, jobs));
  for (const { type, reason, message } of told) ctx.event(cronJob, type, reason, message);
  const before = { ...cronJob, status: seen };
  let status: CronJobStatus = before.status;
  try {
    status = await start(ctx, before, schedules);
  } finally {
    if (!deepEqual(status, cronJob.status ?? {})) {
      await ctx
        .kind(CronJob)
        .subresource("status")
        .update({ ...cronJob, status });
    }
  }
}

/** Active jobs that the cache does not know, and the server does not know either. */
async function missingJobs(
  ctx: Context,
  { status }: CronJobObject,
  jobs: readonly JobObject[],
): Promise<ObjectReference[]> {
  const missing: ObjectReference[] = [];
  for (const reference of status?.active ?? []) {
    if (jobs.some(({ metadata }) => metadata.uid === reference.uid)) continue;
    const { name = "", namespace } = reference;
    const live = await ctx.kind(Job).find({ name, ...(namespace ? { namespace } : {}) });
    if (!live) missing.push(reference);
  }
  return missing;
}

async function deleteJob(ctx: Context, cronJob: CronJobObject, job: JobObject): Promise<boolean> {
  try {
    await ctx.kind(Job).delete(job.metadata, { propagation: "Background" });
  } catch (error) {
    ctx.event(cronJob, "Warning", "FailedDelete", `Deleted job: ${serverMessage(error)}`);
    return false;
  }
  ctx.event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`);
  return true;
}

/** The schedule to go by; undefined when there is none to go by, which was told. */
function scheduleOf(ctx: Context, cronJob: CronJobObject): CronSchedule | undefined {
  const { schedule, timeZone, suspend } = cronJob.spec;
  if (timeZone !== undefined) {
    try {
      clockIn(timeZone);
    } catch {
      const zone = JSON.stringify(timeZone);
      const message = `invalid timeZone: ${zone}: unknown time zone ${timeZone}`;
      ctx.event(cronJob, "Warning", "UnknownTimeZone", message);
      return undefined;
    }
  }
  if (suspend) return undefined;
  if (schedule.includes("TZ")) {
    const message =
      `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported, see ` +
      "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
    ctx.event(cronJob, "Warning", "UnsupportedSchedule", message);
  }
  try {
    return parseSchedule(schedule, timeZone);
  } catch (error) {
    const message = `unparseable schedule: ${JSON.stringify(schedule)} : ${serverMessage(error)}`;
    ctx.event(cronJob, "Warning", "UnparseableSchedule", message);
    return undefined;
  }
}

/** Starts what is due, and returns the status afterwards. */
async function start(
  ctx: Context,
  cronJob: CronJobObject,
  schedules: Map<string, string>,
): Promise<CronJobStatus> {
  const status = cronJob.status ?? {};
  const { uid, deletionTimestamp } = cronJob.metadata;
  if (deletionTimestamp !== undefined) {
    schedules.delete(uid);
    return status;
  }
  const schedule = scheduleOf(ctx, cronJob);
  const text = `${cronJob.spec.timeZone ?? ""} ${cronJob.spec.schedule}`;
  const isNew = (schedules.get(uid) ?? text) !== text;
  schedules.set(uid, text);
  if (!schedule) return status;
  const nowMs = ctx.clock.now();
  try {
    ctx.recheck(nextLookMs(cronJob, schedule, nowMs));
    const dueMs = isNew ? undefined : dueNow(ctx, cronJob, schedule, nowMs);
    return dueMs === undefined ? status : await startAt(ctx, cronJob, dueMs);
  } catch (error) {
    if (!(error instanceof ControllerError && error.code === "InvalidObject")) throw error;
    const message = `invalid schedule: ${cronJob.spec.schedule} : ${error.message}`;
    ctx.event(cronJob, "Warning", "InvalidSchedule", message);
    return status;
  }
}

/** The time to start a job for now, if there is one; what keeps a due one from starting is told. */
function dueNow(
  ctx: Context,
  cronJob: CronJobObject,
  schedule: CronSchedule,
  nowMs: number,
): number | undefined {
  const { atMs, missed } = dueTime(cronJob, schedule, nowMs, { withinDeadline: true });
  if (atMs === undefined) return undefined;
  if (missed === "many") {
    const message =
      "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
    ctx.event(cronJob, "Warning", "TooManyMissedTimes", message);
  }
  const { startingDeadlineSeconds: deadline, concurrencyPolicy } = cronJob.spec;
  if (deadline !== undefined && atMs + deadline * 1000 < nowMs) {
    const time = new Date(atMs).toUTCString().replace("GMT", "+0000");
    ctx.event(cronJob, "Warning", "MissSchedule", `Missed scheduled time to start a job: ${time}`);
    return undefined;
  }
  const { active = [], lastScheduleTime } = cronJob.status ?? {};
  const name = jobNameAt(cronJob, atMs);
  if (active.some((each) => each.name === name) || lastScheduleTime === formatTime(atMs)) return undefined;
  if (concurrencyPolicy === "Forbid" && active.length > 0) {
    const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
    ctx.event(cronJob, "Normal", "JobAlreadyActive", message);
    return undefined;
  }
  return atMs;
}

async function startAt(ctx: Context, cronJob: CronJobObject, atMs: number): Promise<CronJobStatus> {
  const status = cronJob.status ?? {};
  let active = status.active ?? [];
  if (cronJob.spec.concurrencyPolicy === "Replace") {
    for (const reference of active) await replace(ctx, cronJob, reference);
    active = [];
  }
  const job = await createJob(ctx, cronJob, atMs);
  if (!job || active.some(({ uid }) => uid === job.metadata.uid)) return statusWith(status, { active });
  const { name, namespace, uid, resourceVersion } = job.metadata;
  const reference: ObjectReference = {
    apiVersion: "batch/v1",
    kind: "Job",
    name,
    uid,
    resourceVersion,
    ...(namespace === undefined ? {} : { namespace }),
  };
  return statusWith(status, { active: [...active, reference], lastScheduleTime: formatTime(atMs) });
}

/** Deletes a job that still runs when the next one is due. */
async function replace(ctx: Context, cronJob: CronJobObject, { name = "", namespace }: ObjectReference) {
  try {
    const job = await ctx.kind(Job).get({ name, ...(namespace ? { namespace } : {}) });
    if (await deleteJob(ctx, cronJob, job)) return;
  } catch (error) {
    if (isNotFound(error)) return;
    ctx.event(cronJob, "Warning", "FailedGet", `Get job: ${serverMessage(error)}`);
    throw error;
  }
  throw new ControllerError("Incomplete", `could not replace job ${namespace}/${name}`);
}

/** The job, also when a run before this one made it and did not live to note it; undefined when it is another's. */
async function createJob(ctx: Context, cronJob: CronJobObject, atMs: number): Promise<JobObject | undefined> {
  const wanted = jobFromTemplate(cronJob, atMs);
  try {
    const made = await ctx.kind(Job).create(wanted);
    ctx.event(cronJob, "Normal", "SuccessfulCreate", `Created job ${made.metadata.name}`);
    return made;
  } catch (error) {
    if (!isAlreadyExists(error)) {
      if (!isNamespaceTerminating(error)) {
        ctx.event(cronJob, "Warning", "FailedCreate", `Error creating job: ${serverMessage(error)}`);
      }
      throw error;
    }
  }
  const { namespace } = cronJob.metadata;
  const name = jobNameAt(cronJob, atMs);
  const existing = await ctx.kind(Job).find({ name, ...(namespace ? { namespace } : {}) });
  if (existing && isControlledBy(existing, cronJob)) return existing;
  ctx.log.debug("a job of that name exists and is not ours", {
    job: objectKey({ metadata: { name, namespace } }),
  });
  return undefined;
}
