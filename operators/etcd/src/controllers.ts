/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { etcdBackup } from "./backup/backup.ts";
import { etcdBackupSchedule } from "./backup/schedule.ts";
import { EtcdMetrics } from "./metrics.ts";
import { etcdCluster } from "./reconcile.ts";

/** What the running controllers tell Prometheus. */
export const metrics: EtcdMetrics = new EtcdMetrics();

export const controllers: readonly Controller[] = [
  etcdCluster({ metrics }),
  etcdBackup(),
  etcdBackupSchedule(),
];
