/**
 * Observed states for tables of decisions. `cluster(voter(0), voter(1), voter(2, volumeGone))` is a cluster of three
 * whose members are all well, but for what is said. The first voter leads; it is 2026-01-01T12:00:00Z.
 */
import type { EtcdClusterObject, Member, Spec, Status, Template } from "../../src/api/cluster.ts";
import type { MemberStatus } from "../../src/engine/etcd.ts";
import type { ClaimView, Observed, ObservedMember, PodView, TrialView } from "../../src/observe/observed.ts";
import { startSettings } from "../../src/resources/flags.ts";
import { type ClusterName, memberName, peerUrl } from "../../src/resources/names.ts";
import { recipeOf, templateOf } from "../../src/resources/recipe.ts";

export const nowMs = Date.parse("2026-01-01T12:00:00Z");
/** So many seconds before now. */
export const secondsAgo = (seconds: number): number => nowMs - seconds * 1_000;

export const name: ClusterName = { name: "example", namespace: "default", uid: "uid-1" };
const clusterId = "c1";
const decimal = (id: string) => BigInt(`0x${id}`).toString();

export const spec: Spec = {
  size: 3,
  version: "3.6.16",
  image: "etcd",
  storage: { size: "1Gi" },
  settings: {},
  recovery: { quorumLoss: "Manual", nodeLossTimeoutSeconds: 300 },
  timeouts: { obstacleSeconds: 60, startSeconds: 300, survivorSeconds: 120 },
  deletion: { volumes: "Keep" },
  paused: false,
  hibernate: false,
} as EtcdClusterObject["spec"];

/** The template that a spec asks for. */
export function templateFor(change: Partial<Spec> = {}): Template {
  const wanted = { ...spec, ...change };
  return templateOf(recipeOf({ spec: wanted }, wanted.version));
}

/** What everyone runs. */
export const template = templateFor();

/** Says what is special about a member. */
export type Trait = (member: ObservedMember) => ObservedMember;

// ---------------------------------------------------------------------------------------- members

const idOf = (ordinal: number) => (0xa0 + ordinal).toString(16);

function base(ordinal: number, phase: Member["phase"]): ObservedMember {
  const member = memberName(name, ordinal);
  const id = idOf(ordinal);
  const start = startSettings(name, member, { mode: "again" });
  return {
    record: { name: member, id, phase, template: template.hash, claimUid: `claim-${ordinal}` },
    pod: {
      uid: `pod-${ordinal}`,
      template: template.hash,
      role: phase === "Voter" ? "voter" : "learner",
      initialCluster: start.initialCluster,
      initialClusterState: "existing",
      forceNewCluster: false,
      createdMs: secondsAgo(3_600),
      deleting: false,
      ended: false,
      ready: true,
      readyChangedMs: secondsAgo(3_500),
      node: `node-${ordinal}`,
      obstacle: undefined,
      runningSinceMs: secondsAgo(3_550),
      terminationMessage: "",
      restarts: 0,
      drifted: false,
    },
    claim: {
      uid: `claim-${ordinal}`,
      deleting: false,
      lost: false,
      bound: true,
      className: "",
      requested: "1Gi",
      selectedNode: undefined,
      clusterUid: name.uid,
      clusterId,
      memberId: id,
      etcdVersion: "3.6.16",
      peerScheme: "http",
      fenced: false,
      needsRestart: false,
      drifted: false,
    },
    entry: {
      id: decimal(id),
      name: member,
      peerUrls: [peerUrl(name, member)],
      clientUrls: [],
      learner: phase === "Learner",
    },
    status: {
      clusterId: decimal(clusterId),
      memberId: decimal(id),
      version: "3.6.16",
      revision: 100n,
      raftTerm: 2n,
      raftIndex: 1_000n,
      appliedIndex: 1_000n,
      leader: decimal(idOf(0)),
      learner: phase === "Learner",
      dbSizeBytes: 1_000_000n,
      dbSizeInUseBytes: 900_000n,
      errors: [],
    },
    progress: undefined,
    readThrough: true,
    nodeLostSinceMs: undefined,
    nodeCordoned: false,
  };
}

const apply = (member: ObservedMember, traits: readonly Trait[]) =>
  traits.reduce((changed, trait) => trait(changed), member);

/** A member that votes and serves. */
export const voter = (ordinal: number, ...traits: Trait[]) => apply(base(ordinal, "Voter"), traits);
/** A member that runs as a learner and has caught up. */
export const learner = (ordinal: number, ...traits: Trait[]) => apply(base(ordinal, "Learner"), traits);
/** A member that will be added to etcd: it has a volume and nothing else. */
export const joining = (ordinal: number, ...traits: Trait[]) => {
  const { record, ...rest } = base(ordinal, "Joining");
  const { id: _, ...young } = record;
  const member = { ...rest, record: young, pod: undefined, entry: undefined, status: undefined };
  return apply(member, [claim({ clusterId: undefined, memberId: undefined }), ...traits]);
};
/** A voter that was decided to leave. */
export const leaving = (ordinal: number, ...traits: Trait[]) =>
  apply(voter(ordinal, record({ phase: "Leaving", message: "it is lost" })), traits);
/** The first member, before it has answered: it has a volume and a pod that starts. */
export const seed = (ordinal: number, ...traits: Trait[]) => {
  const young = joining(ordinal, record({ phase: "Seed" }));
  return apply({ ...young, pod: { ...pod0(ordinal), ready: false } }, traits);
};
const pod0 = (ordinal: number) => base(ordinal, "Seed").pod as PodView;

// ---------------------------------------------------------------------------------------- traits

export const record =
  (change: Partial<Member>): Trait =>
  (member) => ({ ...member, record: { ...member.record, ...change } });
export const pod =
  (change: Partial<PodView>): Trait =>
  (member) => ({ ...member, pod: { ...(member.pod ?? pod0(0)), ...change } });
export const claim =
  (change: Partial<ClaimView>): Trait =>
  (member) =>
    member.claim ? { ...member, claim: { ...member.claim, ...change } } : member;
export const says =
  (change: Partial<MemberStatus>): Trait =>
  (member) =>
    member.status ? { ...member, status: { ...member.status, ...change } } : member;
export const but =
  (change: Partial<ObservedMember>): Trait =>
  (member) => ({ ...member, ...change });

export const silent: Trait = but({ status: undefined });
export const unready: Trait = pod({ ready: false });
/** It runs and serves nobody, as after a restart without a quorum; its metrics say how far it has got. */
export const metricsOnly =
  (revision: bigint, index: bigint): Trait =>
  (member) => ({ ...down(member), progress: { revision, index, learner: false, peers: [] } });
export const down: Trait = (member) => unready(silent(member));
export const noPod: Trait = (member) => silent(but({ pod: undefined })(member));
export const stopping: Trait = pod({ deleting: true });
export const ended: Trait = (member) => down(pod({ ended: true })(member));
export const leaderless: Trait = says({ leader: undefined });
export const noVolume: Trait = but({ claim: undefined });
export const volumeGone: Trait = (member) => noPod(noVolume(member));
export const volumeDeleting: Trait = claim({ deleting: true });
export const removedFromEtcd: Trait = but({ entry: undefined });
export const cordoned: Trait = but({ nodeCordoned: true });
export const nodeLost = (seconds: number): Trait => but({ nodeLostSinceMs: secondsAgo(seconds) });
export const crashed = (terminationMessage: string): Trait => {
  const trait = pod({ runningSinceMs: undefined, terminationMessage });
  return (member) => down(trait(member));
};
export const obstacle = (text: string): Trait => pod({ obstacle: text });
export const createdAgo = (seconds: number): Trait => pod({ createdMs: secondsAgo(seconds) });
export const readyFor = (seconds: number): Trait => pod({ readyChangedMs: secondsAgo(seconds) });
export const behind = (entries: number): Trait => says({ appliedIndex: 1_000n - BigInt(entries) });
/** It is meant to be made from this template, and is. */
export const madeFrom =
  (made: Template): Trait =>
  (member) =>
    says({ version: made.recipe.version })(
      pod({ template: made.hash })(record({ template: made.hash })(member)),
    );

// ---------------------------------------------------------------------------------------- clusters

/** What is special about a cluster beside its members. */
export type Special = Partial<Omit<Observed, "spec" | "status">> & {
  readonly spec?: Partial<Spec>;
  readonly status?: Partial<Status>;
  /** Default: true. */
  readonly quorum?: boolean;
};

/** A cluster of these members. Its list has every member that has an entry in etcd. */
export function cluster(members: readonly ObservedMember[], special: Special = {}): Observed {
  const { spec: asked = {}, status = {}, quorum = true, ...rest } = special;
  const entries = members.flatMap(({ entry }) => (entry ? [entry] : []));
  return {
    nowMs,
    cluster: name,
    spec: { ...spec, ...asked },
    status: {
      clusterId,
      members: members.map((member) => member.record),
      nextMember: members.length,
      template,
      ...status,
    },
    members,
    unknownMembers: [],
    earlierVolumes: [],
    spareClaims: [],
    list: quorum ? { clusterId: decimal(clusterId), members: entries } : undefined,
    alarms: [],
    clusterVersion: "3.6.0",
    unavailableSinceMs: undefined,
    restore: undefined,
    approved: undefined,
    trials: [],
    largestNode: { cpu: "4", memory: "16Gi" },
    certificates: {},
    authentication: undefined,
    secretProblem: undefined,
    defragmentationDue: undefined,
    ...rest,
  };
}

/** Three voters that serve; the first leads. */
export const three = (special: Special = {}): Observed => cluster([voter(0), voter(1), voter(2)], special);

export const trial = (made: Template, change: Partial<TrialView> = {}): TrialView => ({
  template: made.hash,
  createdMs: secondsAgo(5),
  deleting: false,
  outcome: "running",
  obstacle: undefined,
  ...change,
});

export const alarm = (type: "NOSPACE" | "CORRUPT", ordinal: number) => ({
  type,
  memberId: decimal(idOf(ordinal)),
});
