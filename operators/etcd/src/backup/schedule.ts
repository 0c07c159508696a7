/** The controller of EtcdBackupSchedule: makes backups when they are due, and ends those that have served their time. */

import { type Kept, outlived } from "@keelson/kit";
import { type Context, type Controller, controller, done, fail, many, type Outcome } from "keelson";
import {
  EtcdBackup,
  type EtcdBackupObject,
  EtcdBackupSchedule,
  type EtcdBackupScheduleObject,
} from "../api/backup.ts";
import { annotations, labels } from "../api/names.ts";
import { hasEnded } from "./decide-backup.ts";

/** Backups outlive their schedule: they say where data lies. */
const owns = { backups: many(EtcdBackup, { outlives: true, absent: "keep" }) };
type ScheduleContext = Context<typeof EtcdBackupSchedule, typeof owns>;

export function etcdBackupSchedule(): Controller {
  return controller(EtcdBackupSchedule, {
    owns,

    async reconcile(schedule, ctx) {
      const due = whatIsDue(schedule, ctx);
      if ("outcome" in due) return due;
      const before = [...ctx.own.backups.entries().values()];
      const busy = before.some(({ status }) => !hasEnded(status?.phase));
      let lastScheduled = schedule.status?.lastScheduled;
      if (due.at && schedule.spec.suspend) lastScheduled = due.at.toISOString();
      else if (due.at && !busy) {
        await takeOne(schedule, ctx, due.at);
        lastScheduled = due.at.toISOString();
      }
      await prune(schedule, ctx);
      return report(schedule, ctx, { lastScheduled, next: due.next });
    },
  });
}

interface Due {
  readonly at: Date | undefined;
  readonly next: Date | undefined;
}

/** The newest time that is due; those before it were missed and are not made up for. */
function whatIsDue(
  { spec, status, metadata }: EtcdBackupScheduleObject,
  ctx: ScheduleContext,
): Due | Outcome {
  const since = new Date(status?.lastScheduled ?? metadata.creationTimestamp);
  try {
    const { due, next } = ctx.cron(spec.schedule, { since, timeZone: spec.timeZone });
    return { at: due, next };
  } catch (error) {
    const { message } = error as Error;
    return fail(
      "ScheduleInvalid",
      `${JSON.stringify(spec.schedule)} in ${spec.timeZone} is no schedule: ${message}`,
    );
  }
}

/** Its name follows from when it is due: made twice, it is one. */
async function takeOne(schedule: EtcdBackupScheduleObject, ctx: ScheduleContext, at: Date): Promise<void> {
  const stamp = at.toISOString().replace(/[-:T]|\.\d{3}Z$/g, "");
  const { cluster, store } = schedule.spec;
  await ctx.own.backups.apply(stamp, {
    metadata: { name: `${schedule.metadata.name}-${stamp}`, labels: { [labels.instance]: cluster } },
    spec: { cluster, store, verify: true },
  });
  ctx.event("Normal", "BackupDue", `${schedule.metadata.name}-${stamp} is taken`);
}

/** First the data goes, then the object that says where it was. */
async function prune(schedule: EtcdBackupScheduleObject, ctx: ScheduleContext): Promise<void> {
  const { count, maxAgeHours } = schedule.spec.keep;
  const backups = ctx.own.backups.entries();
  const present = [...backups].filter(([, backup]) => !isLeaving(backup));
  const gone = outlived(
    present.map(([key, backup]) => kept(key, backup)),
    { count, ...(maxAgeHours === undefined ? {} : { maxAgeMs: maxAgeHours * 3_600_000 }) },
    ctx.clock.now(),
  );
  for (const key of gone) {
    const backup = backups.get(key);
    if (!backup) continue;
    const { name, labels: own = {} } = backup.metadata;
    const instance = own[labels.instance];
    await ctx.own.backups.apply(key, {
      metadata: {
        name,
        ...(instance === undefined ? {} : { labels: { [labels.instance]: instance } }),
        annotations: { [annotations.removeData]: "true" },
      },
      spec: backup.spec,
    });
    ctx.event("Normal", "BackupOutlived", `${name} is removed`);
  }
  for (const [key, { status }] of backups) {
    // Ready: its own controller has cleaned up after itself.
    const ready = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
    if (status?.phase === "Removed" && ready) await ctx.own.backups.delete(key);
  }
}

function report(
  { metadata, status }: EtcdBackupScheduleObject,
  ctx: ScheduleContext,
  { lastScheduled, next }: { readonly lastScheduled: string | undefined; readonly next: Date | undefined },
): Outcome {
  const backups = [...ctx.own.backups.entries()].map(([key, backup]) => ({ ...kept(key, backup), backup }));
  const ended = backups.filter(({ state }) => state !== "running").sort((a, b) => b.takenMs - a.takenMs);
  const good = ended.filter(({ state, backup }) => state === "good" && !isLeaving(backup));
  const lastSuccessful = good[0]?.backup.status?.takenAt ?? status?.lastSuccessful;
  const [latest] = ended;
  const healthy = latest === undefined ? "Unknown" : latest.state === "good" ? "True" : "False";
  ctx.setCondition({
    type: "BackupHealthy",
    status: healthy,
    reason: healthy === "True" ? "Verified" : healthy === "False" ? "BackupFailed" : "NoBackupYet",
    message:
      healthy === "False"
        ? `${latest?.backup.metadata.name}: ${latest?.backup.status?.failure?.message ?? "it failed"}`
        : healthy === "True"
          ? `${latest?.backup.metadata.name} was restored and compared`
          : `no backup of ${metadata.name} has ended yet`,
  });
  ctx.setStatus({
    ...(lastScheduled === undefined ? {} : { lastScheduled }),
    ...(lastSuccessful === undefined ? {} : { lastSuccessful }),
    ...(next === undefined ? {} : { next: next.toISOString() }),
    backups: good.length,
  });
  return done();
}

function kept(key: string, { status, metadata }: EtcdBackupObject): Kept {
  const state = !hasEnded(status?.phase) ? "running" : status?.phase === "Done" ? "good" : "failed";
  return { key, state, takenMs: Date.parse(status?.takenAt ?? metadata.creationTimestamp) };
}

function isLeaving({ metadata }: EtcdBackupObject): boolean {
  return (
    metadata.annotations?.[annotations.removeData] === "true" || metadata.deletionTimestamp !== undefined
  );
}
