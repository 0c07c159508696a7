/** DatabaseBackup: one base backup, which counts when a server that was started from it has answered. */
import { immutable, type ObjectOf, resource, z } from "keelson";
import { backupLocation } from "./database.ts";

export const DatabaseBackup = resource({
  group: "database.keelson.dev",
  kind: "DatabaseBackup",
  version: "v1",
  shortNames: ["dbb"],
  spec: z.object({
    database: z
      .string()
      .check(immutable("a backup is of one database"))
      .describe("A Database in this namespace, with spec.backup."),
    source: z
      .enum(["any", "primary"])
      .default("any")
      .describe("Which instance is copied: one that spares the primary the work, or the primary itself."),
  }),
  status: z.object({
    phase: z.enum(["Pending", "Running", "Verifying", "Done", "Failed"]).optional(),
    instance: z.string().optional().describe("Which instance it is taken from."),
    location: z
      .object(backupLocation)
      .optional()
      .describe("Where it lies, for a restore without this object."),
    startedAt: z.string().optional(),
    finishedAt: z.string().optional(),
    sizeBytes: z.int().optional(),
    timeline: z.int().optional(),
    version: z.string().optional(),
    message: z.string().optional(),
    attempts: z.int().optional(),
  }),
  columns: {
    Database: ".spec.database",
    Phase: ".status.phase",
    Finished: ".status.finishedAt",
    Bytes: ".status.sizeBytes",
  },
});

export type DatabaseBackupObject = ObjectOf<typeof DatabaseBackup>;
