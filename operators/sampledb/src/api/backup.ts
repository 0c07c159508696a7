/** SampleDBBackup: one verified copy of a database. It outlives the database. */

import { backupRemovalSchema, backupStoreSchema } from "@keelson/kit";
import { immutable, type ObjectOf, resource, z } from "keelson";

export const SampleDBBackup = resource({
  group: "sampledb.keelson.dev",
  kind: "SampleDBBackup",
  version: "v1",
  shortNames: ["sdbb"],
  spec: z
    .object({
      database: z.string().min(1).max(253).describe("The SampleDB in this namespace."),
      store: backupStoreSchema.optional().describe("Default: the store of the SampleDB."),
      cold: z
        .string()
        .max(253)
        .optional()
        .describe("The claim of a server that does not run: its volume is read. Set for some last backups."),
      primary: z.boolean().default(false).describe("Asks the primary and never a replica."),
      timeoutSeconds: z
        .int()
        .min(60)
        .default(3_600)
        .describe("A backup that is not done by then, all attempts together, has failed."),
    })
    .check(immutable("a backup is taken once; make another")),
  status: z.object({
    phase: z.enum(["Pending", "Copying", "Done", "Failed", "Removed"]).optional(),
    name: z.string().optional().describe("The name of the backup in the store."),
    store: backupStoreSchema.optional().describe("Where it is stored."),
    keys: z.int().optional(),
    sizeBytes: z.string().optional(),
    sha256: z.string().optional(),
    redisVersion: z.string().optional(),
    rdbVersion: z.int().optional(),
    replicationId: z.string().optional(),
    offset: z.string().optional(),
    takenAt: z.string().optional(),
    verifiedAt: z.string().optional(),
    attempt: z.int().optional().describe("Which attempt this is; an attempt is one pod."),
    retryAfter: z.string().optional(),
    failure: z.object({ reason: z.string(), message: z.string() }).optional(),
    removal: backupRemovalSchema.optional(),
  }),
  columns: {
    Database: ".spec.database",
    Phase: ".status.phase",
    Keys: ".status.keys",
    Size: ".status.sizeBytes",
    Taken: { path: ".status.takenAt", type: "date" },
  },
});

export type SampleDBBackupObject = ObjectOf<typeof SampleDBBackup>;
