/** SampleDB: what a user asks for and what the operator reports. */

import { backupStoreSchema, podOptionsSchema } from "@keelson/kit";
import { cel, listMap, type ObjectOf, preserveUnknown, quantity, resource, z } from "keelson";

const user = z.object({
  name: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z0-9_.-]+$/),
  passwordKey: z
    .string()
    .min(1)
    .max(253)
    .describe("The key of the user's password in the credentials Secret."),
  rules: z
    .string()
    .max(4096)
    .regex(/^[^\n\r"#<>!]*$/)
    .default("~* &* +@all -@admin -@dangerous")
    .describe("Redis ACL rules, without passwords."),
});

const command = z.array(z.string().max(65_536)).min(1).max(1024);

const migration = z.object({
  version: z
    .int()
    .min(1)
    .describe(
      "Migrations run in this order, each once. One that is added later needs a version above those that ran.",
    ),
  name: z.string().min(1).max(128),
  since: z
    .string()
    .regex(/^[0-9]+\.[0-9]+$/)
    .optional()
    .describe(
      "Runs only on this version of Redis or a newer one: an upgrade runs it. Until then those after it wait too.",
    ),
  script: z
    .string()
    .min(1)
    .max(65_536)
    .describe("Lua, run atomically with the record that it ran. Write it so that a second run does no harm."),
});

const restoreFrom = z
  .object({
    backup: z.string().max(253).optional().describe("A SampleDBBackup in this namespace."),
    store: backupStoreSchema.optional().describe("The store of the backup, when its SampleDBBackup is gone."),
    name: z.string().max(1024).optional().describe("The name of the backup in the store."),
    aside: z
      .string()
      .max(128)
      .optional()
      .describe("Goes back to data that an earlier restore set aside: status.restore.aside."),
    allowUnverified: z
      .boolean()
      .default(false)
      .describe("Also takes a backup that was never proven by restoring it."),
    request: z
      .string()
      .max(128)
      .default("")
      .describe("Another value restores the same once more. What was carried out is not carried out twice."),
  })
  .check(
    cel(
      "(has(self.backup) ? 1 : 0) + (has(self.store) ? 1 : 0) + (has(self.aside) ? 1 : 0) == 1 && has(self.store) == has(self.name)",
      "give backup, or store and name, or aside",
    ),
  );

export const SampleDB = resource({
  group: "sampledb.keelson.dev",
  kind: "SampleDB",
  version: "v1",
  plural: "sampledbs",
  shortNames: ["sdb"],
  categories: ["all"],
  spec: z
    .object({
      version: z
        .string()
        .regex(/^[0-9]+\.[0-9]+$/)
        .describe("The version of Redis, such as 7.0. A newer one starts an upgrade."),
      image: z
        .string()
        .min(1)
        .max(512)
        .default("redis")
        .describe("The repository of the Redis image; the version is its tag."),
      replicas: z.int().min(0).max(8).default(1).describe("Replicas, in addition to the primary."),
      storage: z
        .object({
          size: quantity().default("1Gi").describe("Grows when raised; cannot shrink."),
          className: z.string().max(253).optional().describe("For volumes to come; others keep theirs."),
        })
        .default({ size: "1Gi" }),
      durability: z
        .object({
          acknowledgements: z
            .int()
            .min(0)
            .max(8)
            .default(1)
            .describe(
              "A write that WAIT reported on this many replicas is never lost. With 0 the primary takes writes whatever its replicas have, and nothing bounds what a failover loses.",
            ),
          maxLagSeconds: z
            .int()
            .min(2)
            .max(60)
            .default(3)
            .describe(
              "The primary stops taking writes when its replicas are this far behind, until the operator sees that they are. Without effect when acknowledgements is 0.",
            ),
        })
        .default({ acknowledgements: 1, maxLagSeconds: 3 }),
      settings: z
        .record(z.string(), z.string().max(1024))
        .default({})
        .describe("Directives of redis.conf. Applied live where Redis allows it, by a restart otherwise."),
      credentialsSecret: z
        .string()
        .max(253)
        .optional()
        .describe("A Secret with the key password, for the user default. Default: a generated one."),
      passwordOverlapSeconds: z
        .int()
        .min(10)
        .max(86_400)
        .default(600)
        .describe("How long an old password stays valid after a new one has taken its place."),
      users: listMap(user, { keys: ["name"] })
        .max(64)
        .default([])
        .describe("More users of Redis."),
      initialize: z
        .object({
          functions: z.array(z.string().max(65_536)).max(32).default([]).describe("Libraries of functions."),
          commands: z
            .array(command)
            .max(512)
            .default([])
            .describe("Seed data: run once, in one transaction."),
        })
        .default({ functions: [], commands: [] }),
      migrations: listMap(migration, { keys: ["version"] })
        .max(128)
        .default([])
        .describe("Changes of the data's schema."),
      tls: z
        .object({
          secretName: z
            .string()
            .max(253)
            .optional()
            .describe("A Secret with ca.crt, tls.crt and tls.key, which you renew. Default: a managed one."),
        })
        .optional()
        .describe("Clients and replicas speak TLS only."),
      resources: preserveUnknown().optional().describe("Requests and limits of the Redis container."),
      pod: podOptionsSchema.default({}).describe("What the pods carry beside Redis."),
      backup: z
        .object({
          schedule: z.string().max(128).optional().describe("A cron expression. Default: no schedule."),
          timeZone: z.string().max(64).default("UTC"),
          keep: z.int().min(1).max(1000).default(24).describe("The newest verified one is never removed."),
          store: backupStoreSchema
            .optional()
            .describe("Default: a claim NAME-backups that outlives the database."),
          size: quantity()
            .default("5Gi")
            .describe(
              "The size of the claim NAME-backups. Grows when raised; a lower one is for a claim to come.",
            ),
        })
        .default({ timeZone: "UTC", keep: 24, size: "5Gi" }),
      restoreFrom: restoreFrom
        .optional()
        .describe("Fills the database from a backup; data that is there is set aside, not deleted."),
      onDelete: z
        .enum(["Snapshot", "Retain", "Delete"])
        .default("Snapshot")
        .describe(
          "Snapshot: a last backup, then the volumes go. Retain: the volumes stay. Delete: all goes.",
        ),
      paused: z.boolean().default(false).describe("The operator watches and reports, and does nothing."),
    })
    .check(
      cel(
        "self.users.all(u, u.name != 'default' && !u.name.startsWith('keelson-'))",
        "users: these names are taken",
      ),
    ),
  status: z.object({
    phase: z.string().optional().describe("One word for kubectl get; conditions say more."),
    version: z.string().optional().describe("The version that the primary runs."),
    primary: z.string().optional().describe("The server that takes writes."),
    epoch: z.int().optional().describe("How many times a primary was chosen."),
    promotion: z
      .object({
        server: z.string(),
        runId: z.string().describe("The process that was chosen; another one in its place is not meant."),
        podUid: z.string(),
        claimUid: z.string(),
        epoch: z.int(),
        why: z.string(),
        loss: z.string().describe("What may be lost by it."),
      })
      .optional()
      .describe("The choice of the next primary, recorded before it is made."),
    leadership: z
      .object({
        runId: z
          .string()
          .describe("The process of the primary; another one in its place is not the primary."),
        podUid: z.string(),
        claimUid: z.string(),
        replicationId: z.string(),
        lineage: z
          .array(z.string())
          .optional()
          .describe(
            "Replication ids of the primaries before, the newest first: any other is of a later one.",
          ),
        guard: z
          .int()
          .describe("With fewer replicas than this the primary takes no writes; set on the primary first."),
        promise: z
          .int()
          .optional()
          .describe("How many replicas a write was acknowledged by that must not be lost."),
        followers: z
          .array(z.string())
          .describe("Replicas that may have acknowledged writes; recorded before each is attached."),
        awaited: z
          .array(z.string())
          .optional()
          .describe("The primary is lost, and these must be asked: they run, also when they are too many."),
      })
      .optional()
      .describe("What the next choice of a primary depends on."),
    fence: z
      .object({
        server: z.string(),
        podUid: z.string(),
        since: z.string().describe("All replicas that can be asked are detached since then."),
      })
      .optional()
      .describe("The silent primary that must have stopped before another is made."),
    handover: z
      .object({
        from: z.string(),
        to: z.string(),
        why: z.string(),
        target: z
          .object({ runId: z.string(), podUid: z.string(), claimUid: z.string() })
          .optional()
          .describe("The process that is to lead, and its volume."),
      })
      .optional()
      .describe("The target takes no writes before its claim is marked as that of the primary."),
    lastFailover: z
      .object({
        at: z.string(),
        from: z.string(),
        to: z.string(),
        why: z.string(),
        lost: z.string().describe("What plain acknowledgements may have lost; WAIT lost nothing."),
      })
      .optional(),
    replicas: z.int().optional().describe("Replicas that follow the primary."),
    selector: z.string().optional(),
    servers: z
      .array(
        z.object({
          name: z.string(),
          role: z.enum(["Primary", "Replica", "Unattached", "Unknown"]),
          version: z.string().optional(),
          ready: z.boolean(),
          volume: z.string().optional().describe("The PersistentVolume with its data."),
          message: z.string().optional(),
        }),
      )
      .optional(),
    binding: z
      .object({ name: z.string() })
      .optional()
      .describe("The Secret that applications bind to, as servicebinding.io defines it."),
    initialized: z.string().optional().describe("Digest of the initial configuration that was applied."),
    schemaVersion: z.int().optional().describe("The newest migration that ran."),
    imageVersion: z
      .string()
      .optional()
      .describe("The version that pods are made with; an upgrade changes it."),
    refusedSize: z
      .object({ size: z.string(), message: z.string() })
      .optional()
      .describe("The size that the volumes of servers were refused last."),
    refusedBackupSize: z
      .object({ size: z.string(), message: z.string() })
      .optional()
      .describe("The size that the volume of backups was refused last."),
    passwordRotation: z.string().optional().describe("The rotation that was asked for last."),
    upgrade: z
      .object({
        from: z.string(),
        to: z.string(),
        id: z.string().describe("Names its backup, its Jobs and what it does to volumes."),
        phase: z
          .enum(["BackingUp", "Rehearsing", "Replicas", "Switching", "Verifying", "Finishing", "GoingBack"])
          .describe(
            "BackingUp to Verifying can go back; no client writes from Switching on until Finishing.",
          ),
        pointOfNoReturn: z
          .boolean()
          .describe("Clients may have written to the new version: only a restore leads back to the old one."),
        since: z.string().describe("When the phase began."),
        held: z.string().optional().describe("The old primary, which is kept as it is to go back to."),
        candidate: z
          .object({ server: z.string(), runId: z.string() })
          .optional()
          .describe("The replica of the new version that is to lead."),
        message: z.string().optional(),
      })
      .optional(),
    failedUpgrade: z.object({ to: z.string(), generation: z.int(), message: z.string() }).optional(),
    restore: z
      .object({
        id: z.string().describe("Names its Job and what it does to the volume."),
        wish: z.string().optional().describe("Digest of the spec.restoreFrom that it carries out."),
        phase: z.enum(["Stopping", "Filling", "Starting", "Done", "Failed"]),
        server: z.string(),
        aside: z.string().optional().describe("The data from before, kept on the volume of `server`."),
        keys: z.int().optional(),
        message: z.string().optional(),
        failedAt: z.string().optional().describe("When it failed, if it is tried again."),
      })
      .optional(),
    restores: z
      .array(z.string())
      .optional()
      .describe("Restores that were carried out before, the newest first: none is carried out twice."),
    lastBackup: z.object({ name: z.string(), at: z.string() }).optional(),
    lastScheduled: z.string().optional(),
    nextBackup: z.string().optional(),
    finalBackup: z.string().optional(),
  }),
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
  columns: {
    Version: ".status.version",
    Primary: ".status.primary",
    Replicas: ".status.replicas",
    Phase: ".status.phase",
    Backup: { path: ".status.lastBackup.at", type: "date" },
  },
});

export type SampleDBObject = ObjectOf<typeof SampleDB>;
export type Spec = SampleDBObject["spec"];
/** The operator's own part of the status. */
export type Status = Omit<
  NonNullable<SampleDBObject["status"]>,
  "conditions" | "observedGeneration" | "inventory" | "steps"
>;
export type Leadership = NonNullable<Status["leadership"]>;
