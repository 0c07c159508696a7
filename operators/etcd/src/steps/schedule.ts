/** Takes a scheduled backup, removes those that are no longer needed, and reports. */
import {
  backupStamp,
  expiredBackups,
  hasBackupEnded,
  type RetainedBackup,
  type ScheduleDecision,
  scheduleHealth,
} from "@keelson/kit";
import { done, type Outcome } from "keelson";
import type { EtcdBackupObject, EtcdBackupScheduleObject } from "../api/backup.ts";
import { annotations, labels } from "../api/names.ts";
import { isRemoved } from "../decide/backup.ts";
import type { ScheduleContext } from "../resources/schedule-declaration.ts";

/** Its name follows from the due time, so that creating it twice makes one backup. */
export async function takeBackup(
  schedule: EtcdBackupScheduleObject,
  ctx: ScheduleContext,
  at: Date,
): Promise<void> {
  const stamp = backupStamp(at);
  const { cluster, store, resources } = schedule.spec;
  await ctx.own.backups.apply(stamp, {
    metadata: { name: `${schedule.metadata.name}-${stamp}`, labels: { [labels.instance]: cluster } },
    spec: { cluster, store, verify: true, ...(resources === undefined ? {} : { resources }) },
  });
  ctx.event("Normal", "BackupDue", `${schedule.metadata.name}-${stamp} is taken`);
}

/** First the data is removed, then the object that records where it was. */
export async function pruneBackups(schedule: EtcdBackupScheduleObject, ctx: ScheduleContext): Promise<void> {
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

export function reportSchedule(
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
  const state = !hasBackupEnded(status?.phase) ? "running" : status?.phase === "Done" ? "good" : "failed";
  const takenMs = Date.parse(status?.takenAt ?? metadata.creationTimestamp);
  const { clusterId } = status ?? {};
  // A cluster of this name from before: what it had may be in its backups alone.
  return { key, state, takenMs, ...(clusterId === undefined ? {} : { of: clusterId }) };
}

function isLeaving(backup: EtcdBackupObject): boolean {
  return isRemoved(backup) || backup.metadata.deletionTimestamp !== undefined;
}
