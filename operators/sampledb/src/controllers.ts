/** The controllers of the operator, as they run and as the generated role knows them. */
import type { Controller } from "keelson";
import { sampleDBBackup } from "./backup/backup.ts";
import { drills } from "./drills.ts";
import { sampleDB } from "./reconcile.ts";

export const controllers: readonly Controller[] = [sampleDB(), sampleDBBackup(), drills()];
