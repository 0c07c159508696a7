/** What the controller of EtcdBackupSchedule touches. */
import { type Context, many } from "keelson";
import { EtcdBackup, type EtcdBackupSchedule } from "../api/backup.ts";

/** Backups outlive their schedule: they record where data is stored. */
export const owns = { backups: many(EtcdBackup, { outlives: true, absent: "keep" }) };
export type ScheduleContext = Context<typeof EtcdBackupSchedule, typeof owns>;
