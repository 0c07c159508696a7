/** What the controller of EtcdBackupSchedule touches. */
import { type Context, many } from "keelson";
import { EtcdBackup, type EtcdBackupSchedule } from "../api/backup.ts";

/** Backups outlive their schedule: they say where data lies. */
export const owns = { backups: many(EtcdBackup, { outlives: true, absent: "keep" }) };
export type ScheduleContext = Context<typeof EtcdBackupSchedule, typeof owns>;
