/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { backupController } from "./backup.ts";
import { DatabaseMetrics } from "./metrics.ts";
import { databaseController } from "./reconcile.ts";

/** The metrics of the running controllers. */
export const metrics: DatabaseMetrics = new DatabaseMetrics();

export const controllers: readonly Controller[] = [databaseController({ metrics }), backupController()];
