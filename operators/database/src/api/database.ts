/** Database: what a user asks for and what the operator reports. */
import { backupStoreSchema, podOptionsSchema } from "@keelson/kit";
import { cel, immutable, listMap, type ObjectOf, preserveUnknown, quantity, resource, z } from "keelson";

/** Where one backup lies. */
export const backupLocation = {
  claim: z.string().optional().describe("A PersistentVolumeClaim."),
  s3: backupStoreSchema.shape.s3,
  directory: z.string().describe("In the claim, or below the prefix of the bucket."),
  name: z.string(),
};

const identifier = z.string().min(1).max(63);

const role = z
  .object({
    name: identifier,
    login: z.boolean().default(true),
    superuser: z.boolean().default(false),
    createdb: z.boolean().default(false),
    createrole: z.boolean().default(false),
    replication: z.boolean().default(false),
    connectionLimit: z.int().min(-1).default(-1),
    memberOf: z.array(identifier).max(32).default([]),
    passwordSecret: z
      .string()
      .max(253)
      .optional()
      .describe("A Secret of yours with the key password. Default: the operator makes one, NAME-ROLE."),
  })
  .check(
    cel(
      "!(self.name in ['agent', 'ca', 'tls', 'pooler']) || has(self.passwordSecret)",
      "the Secret NAME-ROLE would be one of the operator's own: give passwordSecret",
    ),
  );

const database = z.object({
  name: identifier,
  owner: identifier.default("app"),
  extensions: z.array(z.string().max(63)).max(64).default([]),
});

const instance = z.object({
  name: z.string(),
  role: z.enum(["Primary", "Replica", "Unknown"]),
  ready: z.boolean(),
  timeline: z.int().optional(),
  lagBytes: z.int().optional().describe("How much of the primary's log is not on its disk yet."),
  synchronous: z.boolean().optional().describe("Commits may wait for it."),
  version: z.string().optional(),
  message: z.string().optional().describe("What it does or waits for."),
});

export const Database = resource({
  group: "database.keelson.dev",
  kind: "Database",
  version: "v1",
  shortNames: ["db"],
  categories: ["all"],
  spec: z.object({
    engine: z.enum(["postgresql"]).default("postgresql"),
    version: z
      .string()
      .regex(/^[1-9][0-9](\.[0-9]+)?$/)
      .describe("The version of PostgreSQL, such as 15 or 17.5."),
    image: z.string().default("postgres").describe("The image's repository; the tag is the version."),
    instances: z.int().min(1).max(9).default(3).describe("The primary and its replicas."),
    storage: z
      .object({
        size: quantity().default("1Gi").describe("Grows when raised; cannot shrink."),
        className: z.string().optional(),
      })
      .default({ size: "1Gi" }),
    durability: z
      .enum(["async", "quorum", "all"])
      .default("quorum")
      .describe(
        "When a commit is acknowledged. async: when the primary has it. quorum: when a majority of instances has it. all: when every instance has it, and while one is missing no commit is.",
      ),
    parameters: z.record(z.string(), z.string().max(1024)).default({}).describe("PostgreSQL's own settings."),
    roles: listMap(role, { keys: ["name"] })
      .default([])
      .describe(
        "Roles beside the first one, app. A role that is taken out of the list stays in the database.",
      ),
    databases: listMap(database, { keys: ["name"] })
      .default([])
      .describe("Databases beside the first one, app. A database that is taken out of the list stays."),
    failover: z
      .object({
        maximumLag: quantity()
          .default("16Mi")
          .describe("With async: how much log a failover may lose without approval."),
        leaseSeconds: z
          .int()
          .min(5)
          .max(120)
          .default(8)
          .describe("How long a primary that is silent stays primary."),
      })
      .default({ maximumLag: "16Mi", leaseSeconds: 8 }),
    tls: z
      .object({
        require: z.boolean().default(false).describe("Refuses clients that do not use TLS."),
        secret: z
          .string()
          .max(253)
          .optional()
          .describe(
            "A Secret of yours with ca.crt, tls.crt and tls.key. Default: the operator makes and renews certificates.",
          ),
      })
      .default({ require: false })
      .describe("Servers offer TLS, and instances use it among themselves."),
    pooler: z
      .object({
        instances: z.int().min(1).max(20).default(2),
        mode: z
          .enum(["session", "transaction"])
          .default("transaction")
          .describe(
            "When a connection to the server is given back: at the end of a transaction, or of the client's session.",
          ),
        poolSize: z
          .int()
          .min(1)
          .default(20)
          .describe("Connections to the server for each role and database."),
        maxClients: z.int().min(1).default(1000),
        image: z.string().default("ghcr.io/cloudnative-pg/pgbouncer:1.24.1"),
        resources: preserveUnknown().optional(),
      })
      .optional()
      .describe(
        "PgBouncer behind the Service NAME-pooler. It holds clients back while primaryship is handed over, so that no transaction fails.",
      ),
    resources: preserveUnknown().optional().describe("Requests and limits of the container."),
    pod: podOptionsSchema.optional(),
    backup: z
      .object({
        store: backupStoreSchema.describe(
          "A PersistentVolumeClaim that every instance can mount, or a bucket.",
        ),
        schedule: z.string().optional().describe("When base backups are taken, as a cron expression in UTC."),
        keep: z.int().min(1).default(7).describe("How many base backups stay."),
        archive: z
          .boolean()
          .default(true)
          .describe("Keeps the log as well: a restore can go to any moment, and loses at most a minute."),
        finalDeadlineSeconds: z
          .int()
          .min(10)
          .default(600)
          .describe(
            "How long the last backup of onDelete: Snapshot may take; after that the volumes are kept instead.",
          ),
      })
      .optional(),
    restoreFrom: z
      .object({
        backup: z.string().optional().describe("A DatabaseBackup in this namespace."),
        location: z
          .object(backupLocation)
          .check(cel("has(self.claim) != has(self.s3)", "give exactly one of claim and s3"))
          .optional()
          .describe("Where the backup lies, when its DatabaseBackup is gone: what its status said."),
        targetTime: z
          .string()
          .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|[+-][0-9:]+)$/)
          .optional()
          .describe("A moment with its time zone. Default: as far as the archive goes."),
      })
      .check(cel("has(self.backup) != has(self.location)", "give exactly one of backup and location"))
      .optional()
      .check(immutable("a database is restored once, when it is created")),
    restoreInPlace: z
      .object({
        id: z
          .string()
          .min(1)
          .max(63)
          .describe("Another value asks again. A restore that was carried out is not carried out twice."),
        backup: z
          .string()
          .optional()
          .describe(
            "A DatabaseBackup of this Database. Default: the newest of the schedule from before targetTime.",
          ),
        targetTime: z
          .string()
          .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(Z|[+-][0-9:]+)$/)
          .optional()
          .describe("A moment with its time zone. Default: as far as the archive goes."),
        undo: z.boolean().default(false).describe("Puts back what was there before the last restore."),
      })
      .optional()
      .describe("Brings the data back to a moment, where it is. What was there is kept for undo."),
    onDelete: z
      .enum(["Snapshot", "Retain", "Delete"])
      .default("Retain")
      .describe(
        "What becomes of the data. Snapshot takes a last backup and then removes the volumes; Retain keeps them; Delete removes them.",
      ),
    hibernate: z.boolean().default(false).describe("Stops every instance and keeps the volumes."),
    paused: z.boolean().default(false).describe("The operator changes nothing, and nobody fails over."),
  }),
  status: z.object({
    phase: z.string().optional(),
    primary: z.string().optional(),
    instances: z.int().optional(),
    readyInstances: z.int().optional(),
    version: z.string().optional().describe("What the primary runs."),
    selector: z.string().optional(),
    systemId: z.string().optional(),
    dataUid: z
      .string()
      .optional()
      .describe(
        "The UID of the Database under which the data came to be. The folder of its backups and its log is named after it.",
      ),
    epoch: z.int().optional().describe("How often primaryship changed hands."),
    timeline: z.int().optional(),
    members: z.array(instance).optional(),
    quorum: z
      .object({ members: z.array(z.string()), acks: z.int() })
      .optional()
      .describe("Every acknowledged commit is on so many of these instances."),
    lastFailover: z
      .object({
        epoch: z.int(),
        from: z.string(),
        to: z.string(),
        at: z.string(),
        lostBytes: z
          .int()
          .describe("Log that the old primary had told of and nobody has; its last second is not counted."),
        mayHaveLost: z
          .boolean()
          .optional()
          .describe("Acknowledged commits may be lost: with async, or because a person approved it."),
        reason: z.string(),
      })
      .optional(),
    switchover: z.object({ request: z.string(), outcome: z.string(), message: z.string() }).optional(),
    upgrade: z
      .object({
        from: z.string(),
        to: z.string(),
        phase: z.enum(["Waiting", "Rehearsing", "BackingUp", "Upgrading", "Cloning", "Done", "Failed"]),
        message: z.string(),
        startedAt: z.string().optional().describe("When the primary was asked to stop."),
      })
      .optional()
      .describe("The newest major upgrade."),
    restore: z
      .object({
        id: z.string(),
        phase: z.enum(["Waiting", "Restoring", "Cloning", "Done", "Failed"]),
        message: z.string(),
      })
      .optional()
      .describe("The newest restore in place."),
    binding: z.object({ name: z.string() }).optional().describe("The Secret by which applications connect."),
    passwordsRotated: z.string().optional(),
    sqlHash: z.string().optional().describe("Digest of the roles and databases that were applied."),
    volumes: z.array(z.string()).optional().describe("Where the data is."),
    recoverableUntil: z
      .string()
      .optional()
      .describe(
        "Everything that was committed until then is in the archive, and mostly some minutes more: a restore can go to any moment before.",
      ),
    lastScheduled: z.string().optional(),
  }),
  columns: {
    Instances: ".spec.instances",
    Ready: ".status.readyInstances",
    Primary: ".status.primary",
    Version: ".status.version",
    Phase: ".status.phase",
  },
  scale: {
    specReplicasPath: ".spec.instances",
    statusReplicasPath: ".status.instances",
    labelSelectorPath: ".status.selector",
  },
});

export type DatabaseObject = ObjectOf<typeof Database>;
export type Spec = DatabaseObject["spec"];
export type Status = NonNullable<DatabaseObject["status"]>;
