/** The controller of EtcdBackupSchedule: takes backups when they are due, and removes those that are no longer needed. */
import { databaseBackoff, decideSchedule, hasBackupEnded } from "@keelson/kit";
import { type Controller, controller, fail } from "keelson";
import { EtcdBackupSchedule } from "./api/backup.ts";
import { owns } from "./resources/schedule-declaration.ts";
import { pruneBackups, reportSchedule, takeBackup } from "./steps/schedule.ts";

export function etcdBackupSchedule(): Controller {
  return controller(EtcdBackupSchedule, {
    owns,
    backoff: databaseBackoff,

    async reconcile(schedule, ctx) {
      const { spec, status, metadata } = schedule;
      const decision = decideSchedule(
        {
          schedule: spec.schedule,
          timeZone: spec.timeZone,
          suspend: spec.suspend,
          createdAt: metadata.creationTimestamp,
          lastScheduled: status?.lastScheduled,
          running: [...ctx.own.backups.entries().values()].some(
            ({ status }) => !hasBackupEnded(status?.phase),
          ),
        },
        ctx.cron,
      );
      if (decision.do === "invalid") return fail("ScheduleInvalid", decision.message);
      if (decision.do === "take") await takeBackup(schedule, ctx, decision.at);
      await pruneBackups(schedule, ctx);
      return reportSchedule(schedule, ctx, decision);
    },
  });
}
