/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { etcdBackup } from "./backup/backup.ts";
import { etcdBackupSchedule } from "./backup/schedule.ts";
import { etcdCluster } from "./reconcile.ts";

export const controllers: readonly Controller[] = [etcdCluster(), etcdBackup(), etcdBackupSchedule()];
