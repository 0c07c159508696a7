/** EtcdCluster: what a user asks for and what the operator reports. */
import { backupStoreSchema, podOptionsSchema } from "@keelson/kit";
import { cel, immutable, type ObjectOf, preserveUnknown, quantity, resource, z } from "keelson";

/** One member as the operator knows it. It is stored before anything is done to the member: intent first. */
const member = z.object({
  name: z.string().describe("Pod, claim and etcd name; never used twice in the life of a cluster."),
  id: z.string().optional().describe("etcd's member id in hexadecimal; empty until etcd has answered."),
  phase: z
    .enum(["Seed", "Joining", "Learner", "Voter", "Leaving"])
    .describe(
      "The phase of the member: the first one is Seed; others are Joining, then Learner, then Voter, and Leaving at the end.",
    ),
  role: z
    .enum(["Leader", "Follower", "Learner", "Unknown"])
    .optional()
    .describe("The role that the member reports."),
  version: z.string().optional().describe("The version that the member reports."),
  ready: z.boolean().optional().describe("It serves: its pod is ready, and it answers and knows a leader."),
  lag: z.int().optional().describe("How many raft entries it is behind the leader."),
  template: z.string().optional().describe("Digest of the template that its pod should be made from."),
  claimUid: z
    .string()
    .optional()
    .describe("The volume that holds its data; another one means that the data is gone."),
  removed: z
    .boolean()
    .optional()
    .describe("etcd no longer counts it among its members, and never will again."),
  message: z.string().optional().describe("Why it leaves, or what is wrong with it."),
});

/** The part of the spec whose changes roll through the members. */
const recipe = z.object({
  version: z.string(),
  image: z.string(),
  quotaBytes: z.int().optional(),
  resources: preserveUnknown().optional(),
  pod: preserveUnknown().optional(),
  settings: preserveUnknown().optional(),
  tls: preserveUnknown()
    .optional()
    .describe("Digest of the authorities that members trust, and the Secrets that you provide."),
});

const template = z.object({ hash: z.string(), recipe });

const tls = z
  .object({
    mode: z
      .enum(["Managed", "Secret"])
      .default("Managed")
      .describe(
        "Managed: the operator issues and renews certificates. Secret: you provide one for all members.",
      ),
    secretName: z
      .string()
      .optional()
      .describe("With mode Secret: a Secret with ca.crt, tls.crt and tls.key, which you renew."),
    issuerSecret: z
      .string()
      .optional()
      .describe(
        "With mode Managed: a Secret with tls.crt and tls.key of an authority that issues the certificates, instead of the operator's own. When you replace it, the new one is adopted without downtime.",
      ),
    names: z.array(z.string()).default([]).describe("More names and addresses in the certificates."),
    lifetimeHours: z
      .int()
      .min(1)
      .default(2_160)
      .describe("Lifetime of a certificate; it is renewed after two thirds of that."),
    overlapHours: z
      .int()
      .min(0)
      .default(24)
      .describe(
        "How long clients get to trust a new authority before it is used, and to stop using the old one before it is dropped.",
      ),
  })
  .check(cel("self.mode != 'Secret' || has(self.secretName)", "mode Secret needs secretName"));

export const EtcdCluster = resource({
  group: "etcd.keelson.dev",
  kind: "EtcdCluster",
  version: "v1",
  shortNames: ["etcd"],
  categories: ["all"],
  spec: z
    .object({
      size: z.int().min(1).max(9).default(3).describe("Number of voting members."),
      version: z
        .string()
        .regex(/^[0-9]+\.[0-9]+\.[0-9]+$/)
        .describe(
          "The etcd version, such as 3.6.14. Upgrades over several minors are done one minor at a time.",
        ),
      image: z
        .string()
        .default("gcr.io/etcd-development/etcd")
        .describe("Repository of the image; the tag is v followed by the version."),
      storage: z
        .object({
          size: quantity()
            .default("4Gi")
            .describe(
              "Size of each volume. It can grow, and cannot shrink. The default has room for etcd's own quota of 2 GiB, the log and snapshots.",
            ),
          className: z
            .string()
            .optional()
            .describe("Storage class of new volumes; existing volumes keep theirs."),
          quotaBytes: z.int().min(0).optional().describe("etcd's quota-backend-bytes."),
        })
        .default({ size: "4Gi" }),
      resources: preserveUnknown().optional().describe("Requests and limits of the etcd container."),
      pod: podOptionsSchema.optional().describe("More fields of the members' pods."),
      settings: z
        .object({
          heartbeatIntervalMs: z.int().min(1).optional(),
          electionTimeoutMs: z.int().min(1).optional(),
          snapshotCount: z.int().min(1).optional(),
          autoCompactionMode: z.enum(["periodic", "revision"]).optional(),
          autoCompactionRetention: z.string().optional(),
          maxRequestBytes: z.int().min(1).optional(),
          logLevel: z.enum(["debug", "info", "warn", "error"]).optional(),
        })
        .default({})
        .describe("Settings of etcd; a change restarts the members one by one."),
      tls: z.object({ peer: tls.optional(), client: tls.optional() }).optional(),
      auth: z
        .object({ rootSecret: z.string().describe("A Secret with the key password.") })
        .optional()
        .describe("Turns on authentication with the user root."),
      defragmentation: z
        .object({
          schedule: z.string().describe("A cron expression."),
          timeZone: z.string().default("UTC"),
          minReclaimableBytes: z.int().min(0).default(209_715_200),
        })
        .optional(),
      restoreFrom: z
        .object({
          backup: z.string().optional().describe("An EtcdBackup in this namespace."),
          store: backupStoreSchema
            .optional()
            .describe("The store of the backup, when its EtcdBackup does not exist any more."),
          name: z.string().optional().describe("The name of the backup in the store."),
          bumpRevisions: z.int().min(0).default(1_000_000_000),
          allowUnverified: z
            .boolean()
            .default(false)
            .describe("Also accepts a backup that was never verified by restoring it."),
        })
        .optional()
        .check(immutable("a cluster is restored once, when it is created")),
      recovery: z
        .object({
          quorumLoss: z
            .enum(["Manual", "Automatic"])
            .default("Manual")
            .describe("Manual waits for the annotation etcd.keelson.dev/approve-recovery."),
          nodeLossTimeoutSeconds: z.int().min(10).default(300),
        })
        .default({ quorumLoss: "Manual", nodeLossTimeoutSeconds: 300 }),
      timeouts: z
        .object({
          obstacleSeconds: z
            .int()
            .min(1)
            .default(60)
            .describe(
              "How long a rollout waits for what Kubernetes reports to go away, such as an image that cannot be pulled, before it is rolled back.",
            ),
          startSeconds: z
            .int()
            .min(1)
            .default(300)
            .describe(
              "How long a member may take to start: after that a rollout is rolled back, and a member that joins starts over.",
            ),
          survivorSeconds: z
            .int()
            .min(30)
            .default(120)
            .describe("How long survivors of a lost quorum get to answer before one of them is proposed."),
        })
        .default({ obstacleSeconds: 60, startSeconds: 300, survivorSeconds: 120 })
        .describe("How long the operator waits before it acts."),
      deletion: z
        .object({
          volumes: z.enum(["Keep", "Remove"]).default("Keep"),
          finalBackup: backupStoreSchema
            .optional()
            .describe("Takes and verifies a final backup before anything is removed."),
        })
        .default({ volumes: "Keep" }),
      paused: z.boolean().default(false).describe("The operator reports the status and changes nothing."),
      hibernate: z.boolean().default(false).describe("Stops all members and keeps their data."),
    })
    .check(
      cel(
        "has(self.tls) == has(oldSelf.tls) && (!has(self.tls) || (has(self.tls.peer) == has(oldSelf.tls.peer) && has(self.tls.client) == has(oldSelf.tls.client)))",
        "TLS cannot be switched on or off on a running cluster: take a backup and restore it into a new one",
      ),
      cel(
        "!has(self.tls) || !has(oldSelf.tls) || ((!has(self.tls.peer) || !has(oldSelf.tls.peer) || self.tls.peer.mode == oldSelf.tls.peer.mode) && (!has(self.tls.client) || !has(oldSelf.tls.client) || self.tls.client.mode == oldSelf.tls.client.mode))",
        "the mode of TLS cannot be changed on a running cluster",
      ),
      cel(
        "has(self.auth) || !has(oldSelf.auth)",
        "authentication cannot be switched off: the operator would not know the password any more that it needs for that",
      ),
    ),
  status: z.object({
    phase: z.string().optional().describe("A summary in one word; conditions say more."),
    clusterId: z
      .string()
      .optional()
      .describe("The id of the etcd cluster in hexadecimal. Set once, when the first member answers."),
    members: z.array(member).optional(),
    readyMembers: z.int().optional(),
    nextMember: z.int().optional().describe("The number in the name of the next member; it only grows."),
    version: z.string().optional().describe("The lowest version among the voters."),
    targetVersion: z.string().optional().describe("The version being rolled out now."),
    leader: z.string().optional(),
    selector: z.string().optional(),
    template: template
      .optional()
      .describe("The template that members are made from; it has been rolled out successfully."),
    rollout: template
      .extend({
        index: z.string().optional().describe("The leader's raft index when the last member was restarted."),
        rollback: z.string().optional().describe("Why the rollout is rolled back."),
      })
      .optional()
      .describe("The template that is being rolled out, one member at a time."),
    failedRollout: z
      .object({
        hash: z.string(),
        version: z.string(),
        message: z.string(),
        attempts: z.int().optional(),
        retryAt: z.string().optional().describe("When it is tried again, unless the spec changes before."),
      })
      .optional()
      .describe("The rollout that failed; it is tried again after a pause that doubles with every attempt."),
    oldLog: z
      .object({ index: z.string() })
      .optional()
      .describe("Up to this raft index, logs may hold entries that etcd 3.4 wrote and 3.6 cannot read."),
    comparison: z
      .object({
        purpose: z.string(),
        revision: z.string(),
        odd: z.array(z.string()).describe("Members whose hash is not that of the majority."),
        agreed: z.boolean().describe("A majority of the voters has one hash."),
        at: z.string().optional().describe("When they were compared."),
      })
      .optional()
      .describe("The last comparison of the members' hashes at one revision."),
    defragmentation: z
      .object({ due: z.string(), members: z.array(z.string()) })
      .optional()
      .describe("The running defragmentation: when it was due, and which members are done."),
    lastDefragmentation: z.string().optional(),
    refusedGrowth: z
      .object({
        size: z.string(),
        message: z.string(),
        attempts: z.int().optional(),
        retryAt: z.string().optional().describe("When it is tried again, unless the size changes before."),
      })
      .optional()
      .describe(
        "The size to which volumes could not be grown, and why; it is tried again after a pause that doubles with every attempt.",
      ),
    space: z
      .object({
        revision: z.string(),
        fullAt: z.string().optional().describe("When that made no room: the data itself fills the quota."),
        quota: z.string().optional().describe("The quota in bytes that it filled."),
      })
      .optional()
      .describe("The revision up to which history was dropped when etcd last ran out of space."),
    lastKnownRevision: z
      .string()
      .optional()
      .describe("The newest revision, updated once a minute while it changes."),
    lastKnownAt: z.string().optional(),
    tls: z
      .record(z.string(), z.object({ phase: z.string(), expires: z.string() }))
      .optional()
      .describe(
        "For peer and client: the phase of the authority, and when the first of its certificates expires.",
      ),
    recovery: z
      .object({
        survivor: z
          .string()
          .describe("Approve with etcd.keelson.dev/approve-recovery: <this name>@<revision>, as Ready says."),
        revision: z.string(),
        lost: z.string(),
        phase: z.enum(["Proposed", "Stopping", "Forcing", "Restarting"]),
      })
      .optional()
      .describe("The member that a recovery from quorum loss would start from, and what would be lost."),
  }),
  scale: {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.readyMembers",
    labelSelectorPath: ".status.selector",
  },
  columns: {
    Size: ".spec.size",
    Ready: ".status.readyMembers",
    Version: ".status.version",
    Leader: ".status.leader",
    Phase: ".status.phase",
  },
});

export type EtcdClusterObject = ObjectOf<typeof EtcdCluster>;
export type Spec = EtcdClusterObject["spec"];
export type Member = z.output<typeof member>;
export type Recipe = z.output<typeof recipe>;
export type Template = z.output<typeof template>;
/** The status without what the runtime writes. */
export type Status = Omit<
  NonNullable<EtcdClusterObject["status"]>,
  "conditions" | "observedGeneration" | "inventory" | "steps"
>;
