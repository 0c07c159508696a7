/** Backups by schedule: taken when they are due, removed when they are too many, and reported. */
import {
  backupHealth,
  backupStamp,
  decideSchedule,
  expiredBackups,
  hasBackupEnded,
  type RetainedBackup,
  scheduleHealth,
} from "@keelson/kit";
import type { SampleDBBackupObject } from "../api/backup.ts";
import { annotations } from "../api/names.ts";
import type { SampleDBObject, Status } from "../api/sampledb.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, selectorLabels } from "../resources/names.ts";

const prefix = "scheduled-";

/** What the status says of backups. */
export async function keepBackups(db: SampleDBObject, ctx: SampleDBContext): Promise<Partial<Status>> {
  const { schedule, timeZone } = db.spec.backup;
  const backups = [...ctx.own.backups.entries()].filter(([key]) => key.startsWith(prefix));
  const ended = backups
    .map(([key, backup]) => ({ ...retained(key, backup), backup }))
    .sort((a, b) => b.takenMs - a.takenMs);
  const good = ended.find(({ state, backup }) => state === "good" && !isLeaving(backup))?.backup;
  const lastBackup = good
    ? { name: good.metadata.name, at: good.status?.takenAt ?? "" }
    : db.status?.lastBackup;
  const latest = ended.find(({ state }) => state !== "running");
  const report = scheduleHealth(
    "spec.backup.schedule",
    latest && {
      name: latest.backup.metadata.name,
      good: latest.state === "good",
      message:
        latest.state === "good"
          ? "was restored and compared"
          : (latest.backup.status?.failure?.message ?? "it failed"),
    },
  );
  const createdAt = db.metadata.creationTimestamp;
  const facts =
    schedule === undefined
      ? []
      : [
          {
            name: "spec.backup.schedule",
            schedule,
            timeZone,
            suspend: db.spec.paused,
            createdAt,
            lastSuccessful: lastBackup?.at,
            condition: report,
          },
        ];
  const calendar = (expression: string, since: { since: Date; timeZone: string }) =>
    ctx.cron(expression, since);
  ctx.setCondition(backupHealth(facts, { calendar, kind: "schedule" }));
  await prune(db, ctx, backups);
  if (schedule === undefined) return defined({ lastBackup });
  const running = ended.some(({ state }) => state === "running");
  const decision = decideSchedule(
    {
      schedule,
      timeZone,
      suspend: db.spec.paused,
      createdAt,
      lastScheduled: db.status?.lastScheduled,
      running,
    },
    calendar,
  );
  if (decision.do === "invalid") return defined({ lastBackup });
  // While a restore fills the volumes nobody leads: what is due then is taken afterwards.
  const isLate = decision.do === "take" && db.status?.primary === undefined && db.status?.epoch !== undefined;
  // Before there is data there is nothing to back up; the schedule counts from then on.
  if (decision.do === "take" && db.status?.primary !== undefined) {
    const key = `${prefix}${backupStamp(decision.at)}`;
    await ctx.own.backups.apply(key, backupFor(db, `${db.metadata.name}-${backupStamp(decision.at)}`));
    ctx.event("Normal", "BackupScheduled", `the backup of ${decision.lastScheduled} is taken`);
  }
  return defined({
    lastBackup,
    lastScheduled: isLate ? db.status?.lastScheduled : decision.lastScheduled,
    nextBackup: decision.next?.toISOString(),
  });
}

export function backupFor(
  db: SampleDBObject,
  name: string,
  more: { readonly cold?: string; readonly primary?: boolean } = {},
) {
  const database = databaseName(db);
  const { store } = db.spec.backup;
  return {
    metadata: { name, labels: selectorLabels(database) },
    spec: { database: database.name, ...(store && { store }), ...more },
  };
}

/** First the data goes, then the object that says where it was. */
async function prune(
  db: SampleDBObject,
  ctx: SampleDBContext,
  backups: readonly (readonly [string, SampleDBBackupObject])[],
): Promise<void> {
  const present = backups.filter(([, backup]) => !isLeaving(backup));
  const expired = expiredBackups(
    present.map(([key, backup]) => ownedSince(db, retained(key, backup))),
    { count: db.spec.backup.keep },
    ctx.clock.now(),
  );
  for (const [key, backup] of present.filter(([each]) => expired.includes(each))) {
    const { name } = backup.metadata;
    const metadata = {
      name,
      labels: selectorLabels(databaseName(db)),
      annotations: { [annotations.removeData]: "true" },
    };
    await ctx.own.backups.apply(key, { metadata, spec: backup.spec });
    ctx.event("Normal", "BackupExpired", `${name} is removed`);
  }
  for (const [key, { status }] of backups) {
    const ready = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
    if (status?.phase === "Removed" && ready) await ctx.own.backups.delete(key);
  }
}

function retained(key: string, { status, metadata }: SampleDBBackupObject): RetainedBackup {
  const state = !hasBackupEnded(status?.phase) ? "running" : status?.phase === "Done" ? "good" : "failed";
  return { key, state, takenMs: Date.parse(status?.takenAt ?? metadata.creationTimestamp) };
}

/** A database of this name from before: what it had may be in its backups alone. */
function ownedSince({ metadata }: SampleDBObject, backup: RetainedBackup): RetainedBackup {
  const isEarlier = backup.takenMs < Date.parse(metadata.creationTimestamp);
  return { ...backup, of: isEarlier ? "earlier" : "present" };
}

function isLeaving({ metadata }: SampleDBBackupObject): boolean {
  return (
    metadata.annotations?.[annotations.removeData] === "true" || metadata.deletionTimestamp !== undefined
  );
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}
