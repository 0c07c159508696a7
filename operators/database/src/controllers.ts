/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { backupController } from "./backup.ts";
import { databaseController } from "./reconcile.ts";

export const controllers: readonly Controller[] = [databaseController(), backupController()];
