/** EtcdCluster: what a user asks for and what the operator reports. */
import { backupStoreSchema } from "@keelson/kit";
import { cel, immutable, type ObjectOf, preserveUnknown, quantity, resource, z } from "keelson";

/** One member as the operator knows it. It is stored before anything is done to the member: intent first. */
const member = z.object({
  name: z.string().describe("Pod, claim and etcd name; never used twice in the life of a cluster."),
  id: z.string().optional().describe("etcd's member id in hexadecimal; empty until etcd has answered."),
  phase: z
    .enum(["Seed", "Joining", "Learner", "Voter", "Leaving"])
    .describe("Where the member stands in its life."),
  role: z.enum(["Leader", "Follower", "Learner", "Unknown"]).optional().describe("What it says of itself."),
  version: z.string().optional().describe("The version it runs, as it says itself."),
  ready: z.boolean().optional().describe("It serves: its pod is ready, and it answers and knows a leader."),
  lag: z.int().optional().describe("How many raft entries it is behind the leader."),
  template: z.string().optional().describe("Digest of the template that its pod is meant to be made from."),
  claimUid: z
    .string()
    .optional()
    .describe("The volume that holds its data; another one means that the data is gone."),
  message: z.string().optional().describe("Why it leaves, or what ails it."),
});

/** What pods are made from: the part of the spec that rolls through the members when it changes. */
const recipe = z.object({
  version: z.string(),
  image: z.string(),
  quotaBytes: z.int().optional(),
  resources: preserveUnknown().optional(),
  pod: preserveUnknown().optional(),
  settings: preserveUnknown().optional(),
  tls: preserveUnknown().optional().describe("Whom members trust, and the Secrets that you give them."),
});

const template = z.object({ hash: z.string(), recipe });

const tls = z
  .object({
    mode: z
      .enum(["Managed", "Secret"])
      .default("Managed")
      .describe(
        "Managed: the operator issues certificates and renews them. Secret: you give one for all members.",
      ),
    secretName: z
      .string()
      .optional()
      .describe("With mode Secret: a Secret with ca.crt, tls.crt and tls.key, which you renew."),
    issuerSecret: z
      .string()
      .optional()
      .describe(
        "With mode Managed: a Secret with tls.crt and tls.key of an authority to issue by, in place of one of the operator's own. Another authority in it is adopted without downtime.",
      ),
    names: z.array(z.string()).default([]).describe("More names and addresses that certificates speak for."),
    lifetimeHours: z
      .int()
      .min(1)
      .default(2_160)
      .describe("How long a certificate holds; it is renewed after two thirds of that."),
    overlapHours: z
      .int()
      .min(0)
      .default(24)
      .describe(
        "How long clients get to learn of a new authority before it is used, and to leave the old one before it goes.",
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
      size: z.int().min(1).max(9).default(3).describe("How many voting members."),
      version: z
        .string()
        .regex(/^[0-9]+\.[0-9]+\.[0-9]+$/)
        .describe("The etcd version, such as 3.6.14. One minor up at a time is done for you."),
      image: z
        .string()
        .default("gcr.io/etcd-development/etcd")
        .describe("The image's repository; the tag is v and the version."),
      storage: z
        .object({
          size: quantity().default("1Gi").describe("Grows when raised; cannot shrink."),
          className: z
            .string()
            .optional()
            .describe("Holds for volumes to come; those that exist keep theirs."),
          quotaBytes: z.int().min(0).optional().describe("etcd's quota-backend-bytes."),
        })
        .default({ size: "1Gi" }),
      resources: preserveUnknown().optional().describe("Requests and limits of the etcd container."),
      pod: z
        .object({
          labels: z.record(z.string(), z.string()).optional(),
          annotations: z.record(z.string(), z.string()).optional(),
          nodeSelector: z.record(z.string(), z.string()).optional(),
          affinity: preserveUnknown().optional(),
          tolerations: z.array(preserveUnknown()).optional(),
          topologySpreadConstraints: z.array(preserveUnknown()).optional(),
          priorityClassName: z.string().optional(),
        })
        .optional()
        .describe("What the members' pods carry beside etcd."),
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
        .describe("etcd's own settings; a change rolls through the members one by one."),
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
          store: backupStoreSchema.optional().describe("Where the backup lies, when its EtcdBackup is gone."),
          name: z.string().optional().describe("The backup's name in the store."),
          bumpRevisions: z.int().min(0).default(1_000_000_000),
          allowUnverified: z
            .boolean()
            .default(false)
            .describe("Also takes a backup that was never proven by restoring it."),
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
      deletion: z
        .object({
          volumes: z.enum(["Keep", "Remove"]).default("Keep"),
          finalBackup: backupStoreSchema
            .optional()
            .describe("Takes and verifies a last backup before anything is removed."),
        })
        .default({ volumes: "Keep" }),
      paused: z.boolean().default(false).describe("The operator watches and reports, and does nothing."),
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
        "authentication cannot be switched off: the operator would forget the password it needs for that",
      ),
    ),
  status: z.object({
    phase: z.string().optional().describe("One word for kubectl get; conditions say more."),
    clusterId: z
      .string()
      .optional()
      .describe("In hexadecimal. Set once, when the first member answers; compared ever after."),
    members: z.array(member).optional(),
    readyMembers: z.int().optional(),
    nextMember: z.int().optional().describe("The number of the next member's name; it only grows."),
    version: z.string().optional().describe("The lowest version among the voters."),
    targetVersion: z.string().optional().describe("The version being rolled out now."),
    leader: z.string().optional(),
    selector: z.string().optional(),
    template: template.optional().describe("What members are made from, proven by running."),
    rollout: template
      .extend({
        index: z.string().optional().describe("The leader's raft index when the last member was restarted."),
        rollback: z.string().optional().describe("Why the members return to what they were."),
      })
      .optional()
      .describe("What is being rolled out now, one member after the other."),
    failedRollout: z
      .object({ hash: z.string(), version: z.string(), message: z.string() })
      .optional()
      .describe("What was rolled back; it is not tried again until the spec asks for something else."),
    oldLog: z
      .object({ index: z.string() })
      .optional()
      .describe(
        "Up to this raft index the members' logs may hold what etcd 3.4 wrote and 3.6 refuses to read.",
      ),
    comparison: z
      .object({
        purpose: z.string(),
        revision: z.string(),
        odd: z.array(z.string()).describe("Members whose hash is not that of the majority."),
        agreed: z.boolean().describe("A majority of the voters has one hash."),
      })
      .optional()
      .describe("The last comparison of the members' hashes at one revision."),
    defragmentation: z
      .object({ due: z.string(), members: z.array(z.string()) })
      .optional()
      .describe("The defragmentation under way: when it was due and who has had it."),
    lastDefragmentation: z.string().optional(),
    refusedGrowth: z
      .object({ size: z.string(), message: z.string() })
      .optional()
      .describe("The size to which volumes could not be grown, and why; it is not tried again."),
    space: z
      .object({ revision: z.string() })
      .optional()
      .describe("The revision up to which history was dropped when etcd last ran out of space."),
    lastKnownRevision: z
      .string()
      .optional()
      .describe("The newest revision seen, looked at once a minute while it changes."),
    lastKnownAt: z.string().optional(),
    tls: z
      .record(z.string(), z.object({ phase: z.string(), expires: z.string() }))
      .optional()
      .describe(
        "By use, peer and client: where the authority stands, and when the first of its certificates ends.",
      ),
    recovery: z
      .object({
        survivor: z.string().describe("Approve with etcd.keelson.dev/approve-recovery: <this name>."),
        revision: z.string(),
        lost: z.string(),
        phase: z.enum(["Proposed", "Stopping", "Forcing", "Restarting"]),
      })
      .optional()
      .describe("What a recovery from quorum loss starts from, and what it loses."),
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
/** The operator's own part of the status. */
export type Status = Omit<
  NonNullable<EtcdClusterObject["status"]>,
  "conditions" | "observedGeneration" | "inventory" | "steps"
>;
