/** Where backups are stored. */
import { cel, z } from "keelson";

export const storeSchema = z
  .object({
    claim: z
      .object({
        name: z.string().min(1).max(253),
        path: z
          .string()
          .max(1024)
          .regex(/^[^\0]*$/)
          .default("")
          .describe("A folder in the volume."),
      })
      .optional()
      .describe("A PersistentVolumeClaim in this namespace."),
    s3: z
      .object({
        endpoint: z.string().max(2048).describe("URL of the S3-compatible service."),
        region: z.string().max(64).default("us-east-1"),
        bucket: z.string().min(1).max(253),
        prefix: z.string().max(1024).default(""),
        credentialsSecret: z.string().max(253).describe("A Secret with accessKeyId and secretAccessKey."),
      })
      .optional(),
  })
  .check(cel("has(self.claim) != has(self.s3)", "give exactly one of claim and s3"));

export type BackupStore = z.output<typeof storeSchema>;
