/** EtcdBackup and EtcdBackupSchedule: one verified copy, and many over time. */
import { backupRemovalSchema, backupStoreSchema } from "@keelson/kit";
import { immutable, type ObjectOf, preserveUnknown, resource, z } from "keelson";

const resources = preserveUnknown()
  .optional()
  .describe(
    "Requests and limits of each container that takes or verifies a backup. Default: requests of 50m and 64Mi.",
  );

export const EtcdBackup = resource({
  group: "etcd.keelson.dev",
  kind: "EtcdBackup",
  version: "v1",
  shortNames: ["etcdbackup"],
  spec: z
    .object({
      cluster: z.string().min(1).describe("The EtcdCluster in this namespace."),
      store: backupStoreSchema,
      verify: z
        .boolean()
        .default(true)
        .describe("Restores the backup into a scratch member before it counts as done."),
      timeoutSeconds: z
        .int()
        .min(60)
        .default(7_200)
        .describe("A backup that is not done by then, all attempts together, has failed."),
      resources,
    })
    .check(immutable("a backup cannot be changed; create another one")),
  status: z.object({
    phase: z
      .enum(["Pending", "Copying", "Verifying", "Done", "Failed", "Removed"])
      .optional()
      .describe(
        "Removed: the data was removed from the store, see the annotation etcd.keelson.dev/remove-data.",
      ),
    name: z.string().optional().describe("The name of the backup in the store."),
    revision: z.string().optional(),
    sizeBytes: z.string().optional(),
    sha256: z.string().optional(),
    etcdVersion: z.string().optional(),
    clusterId: z.string().optional(),
    takenAt: z.string().optional(),
    verifiedAt: z.string().optional(),
    keys: z.int().optional(),
    compared: z
      .boolean()
      .optional()
      .describe(
        "The hash of the restored member was equal to the cluster's; false when it could not be compared.",
      ),
    attempt: z.int().optional().describe("The number of the attempt; each attempt is one pod."),
    retryAfter: z.string().optional(),
    failure: z.object({ reason: z.string(), message: z.string() }).optional(),
    removal: backupRemovalSchema.optional(),
  }),
  columns: {
    Cluster: ".spec.cluster",
    Phase: ".status.phase",
    Revision: ".status.revision",
    Size: ".status.sizeBytes",
  },
});

export const EtcdBackupSchedule = resource({
  group: "etcd.keelson.dev",
  kind: "EtcdBackupSchedule",
  version: "v1",
  spec: z.object({
    cluster: z.string().min(1),
    schedule: z.string().describe("A cron expression."),
    timeZone: z.string().default("UTC"),
    suspend: z.boolean().default(false),
    store: backupStoreSchema,
    keep: z
      .object({
        count: z.int().min(1).default(7),
        maxAgeHours: z.int().min(1).optional(),
      })
      .default({ count: 7 })
      .describe("The newest verified backup is never removed."),
    resources,
  }),
  status: z.object({
    lastScheduled: z.string().optional(),
    lastSuccessful: z.string().optional(),
    next: z.string().optional(),
    backups: z.int().optional(),
  }),
  columns: {
    Cluster: ".spec.cluster",
    Schedule: ".spec.schedule",
    Last: { path: ".status.lastSuccessful", type: "date" },
    Backups: ".status.backups",
  },
});

export type EtcdBackupObject = ObjectOf<typeof EtcdBackup>;
export type EtcdBackupScheduleObject = ObjectOf<typeof EtcdBackupSchedule>;
