/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { EtcdMetrics } from "./metrics.ts";
import { etcdCluster } from "./reconcile.ts";
import { etcdBackup } from "./reconcile-backup.ts";
import { etcdBackupSchedule } from "./reconcile-schedule.ts";

/** The metrics of the running controllers. */
export const metrics: EtcdMetrics = new EtcdMetrics();

export const controllers: readonly Controller[] = [
  etcdCluster({ metrics }),
  etcdBackup(),
  etcdBackupSchedule(),
];
