/** The controller of EtcdBackupSchedule: makes backups when they are due, and ends those that have served their time. */

import {
  backupStamp,
  decideSchedule,
  expiredBackups,
  type RetainedBackup,
  type ScheduleDecision,
  scheduleHealth,
} from "@keelson/kit";
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
      const { spec, status, metadata } = schedule;
      const decision = decideSchedule(
        {
          schedule: spec.schedule,
          timeZone: spec.timeZone,
          suspend: spec.suspend,
          createdAt: metadata.creationTimestamp,
          lastScheduled: status?.lastScheduled,
          running: [...ctx.own.backups.entries().values()].some(({ status }) => !hasEnded(status?.phase)),
        },
        ctx.cron,
      );
      if (decision.do === "invalid") return fail("ScheduleInvalid", decision.message);
      if (decision.do === "take") await takeOne(schedule, ctx, decision.at);
      await prune(schedule, ctx);
      return report(schedule, ctx, decision);
    },
  });
}

/** Its name follows from when it is due: made twice, it is one. */
async function takeOne(schedule: EtcdBackupScheduleObject, ctx: ScheduleContext, at: Date): Promise<void> {
  const stamp = backupStamp(at);
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
  const expired = expiredBackups(
    present.map(([key, backup]) => retained(key, backup)),
    { count, ...(maxAgeHours === undefined ? {} : { maxAgeMs: maxAgeHours * 3_600_000 }) },
    ctx.clock.now(),
  );
  for (const key of expired) {
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
  { lastScheduled, next }: Exclude<ScheduleDecision, { readonly do: "invalid" }>,
): Outcome {
  const backups = [...ctx.own.backups.entries()].map(([key, backup]) => ({
    ...retained(key, backup),
    backup,
  }));
  const ended = backups.filter(({ state }) => state !== "running").sort((a, b) => b.takenMs - a.takenMs);
  const good = ended.filter(({ state, backup }) => state === "good" && !isLeaving(backup));
  const lastSuccessful = good[0]?.backup.status?.takenAt ?? status?.lastSuccessful;
  const [latest] = ended;
  ctx.setCondition(
    scheduleHealth(
      metadata.name,
      latest && {
        name: latest.backup.metadata.name,
        good: latest.state === "good",
        message:
          latest.state === "good"
            ? "was restored and compared"
            : (latest.backup.status?.failure?.message ?? "it failed"),
      },
    ),
  );
  ctx.setStatus({
    ...(lastScheduled === undefined ? {} : { lastScheduled }),
    ...(lastSuccessful === undefined ? {} : { lastSuccessful }),
    ...(next === undefined ? {} : { next: next.toISOString() }),
    backups: good.length,
  });
  return done();
}

function retained(key: string, { status, metadata }: EtcdBackupObject): RetainedBackup {
  const state = !hasEnded(status?.phase) ? "running" : status?.phase === "Done" ? "good" : "failed";
  return { key, state, takenMs: Date.parse(status?.takenAt ?? metadata.creationTimestamp) };
}

function isLeaving({ metadata }: EtcdBackupObject): boolean {
  return (
    metadata.annotations?.[annotations.removeData] === "true" || metadata.deletionTimestamp !== undefined
  );
}
