/** What one pass sees, as plain data: objects from the cache, and what each member answered. */
import type { Member, Spec, Status } from "../api/cluster.ts";
import type { Alarm, EtcdMember, MemberList, MemberProgress, MemberStatus } from "../engine/etcd.ts";
import type { ClusterName } from "../resources/names.ts";
import type { RestorePlan } from "./restore-plan.ts";
import type { Certificates } from "./tls-facts.ts";

/** The part of a pod that decisions depend on. */
export interface PodView {
  readonly uid: string;
  /** Digest of the template it was made from. */
  readonly template: string;
  readonly role: string;
  readonly initialCluster: string;
  readonly initialClusterState: string;
  readonly forceNewCluster: boolean;
  readonly createdMs: number;
  readonly deleting: boolean;
  /** It has ended and will not start again by itself (evicted, or its node gave up on it). */
  readonly ended: boolean;
  readonly ready: boolean;
  /** Since when it has been ready, or not. */
  readonly readyChangedMs: number;
  readonly node: string | undefined;
  /** Why it cannot run, when Kubernetes says so: `ImagePullBackOff: …`, `Unschedulable: …`. */
  readonly obstacle: string | undefined;
  /** Someone changed its labels or owners. */
  readonly drifted: boolean;
  /** Since when its container runs, if it does now: what an earlier one said may be over. */
  readonly runningSinceMs: number | undefined;
  /** The container's last termination message; empty when it was killed for memory. */
  readonly terminationMessage: string;
  readonly restarts: number;
}

export interface ClaimView {
  readonly uid: string;
  readonly deleting: boolean;
  readonly lost: boolean;
  readonly bound: boolean;
  /** The class that the spec asked for when the claim was made; empty for the cluster's own choice. */
  readonly className: string;
  readonly requested: string | number;
  /** The node for which its volume was made. A local volume is there and nowhere else. */
  readonly selectedNode: string | undefined;
  readonly clusterUid: string | undefined;
  readonly clusterId: string | undefined;
  readonly memberId: string | undefined;
  /** The version of etcd that last ran on it. */
  readonly etcdVersion: string | undefined;
  /** How the others address its member, as etcd has it in the data: `http` or `https`. */
  readonly peerScheme: string | undefined;
  readonly fenced: boolean;
  /** Someone removed the labels by which it is found. */
  readonly drifted: boolean;
  /** The volume has grown, and its file system waits for a restart of the pod. */
  readonly needsRestart: boolean;
}

/** One member: the record, the objects, etcd's entry, and its own answer. */
export interface ObservedMember {
  readonly record: Member;
  readonly pod: PodView | undefined;
  readonly claim: ClaimView | undefined;
  readonly entry: EtcdMember | undefined;
  readonly status: MemberStatus | undefined;
  /** Without a quorum and without a status: what it tells beside. */
  readonly progress: MemberProgress | undefined;
  /** Whether a linearizable read went through it; undefined when it was not asked. */
  readonly readThrough: boolean | undefined;
  /** Its node is unreachable or gone since then: the pod's, or the volume's where no other node takes the pod. */
  readonly nodeLostSinceMs: number | undefined;
  /** Its node is cordoned: it is about to be drained. */
  readonly nodeCordoned: boolean;
}

/** A pod that tries a template. */
export interface TrialView {
  readonly template: string;
  readonly createdMs: number;
  readonly deleting: boolean;
  readonly outcome: "succeeded" | "failed" | "running";
  readonly obstacle: string | undefined;
}

export interface Observed {
  readonly nowMs: number;
  readonly cluster: ClusterName;
  readonly spec: Spec;
  readonly status: Status;
  /** In the order of their records. */
  readonly members: readonly ObservedMember[];
  /** Members of etcd that have no record and that this operator cannot have added; without a quorum, as single members say. */
  readonly unknownMembers: readonly EtcdMember[];
  /** Claims under names of members that no record has: set aside by a recovery, or left behind. Not those being deleted. */
  readonly spareClaims: readonly string[];
  /** etcd's own list, answered by a quorum; undefined without one. */
  readonly list: MemberList | undefined;
  readonly alarms: readonly Alarm[];
  /** The version that all members have agreed on; it only rises, and only when every member can follow. */
  readonly clusterVersion: string | undefined;
  /** Since when there has been no quorum, as far as the status remembers. */
  readonly unavailableSinceMs: number | undefined;
  /** What the cluster is restored from, before it has formed; undefined when it starts empty. */
  readonly restore: RestorePlan | undefined;
  /** Claims of an earlier cluster of this name, while `restoreFrom` asks for a backup. */
  readonly earlierVolumes: readonly string[];
  /** The survivor that the user has approved to recover from, with its revision. */
  readonly approved: string | undefined;
  readonly trials: readonly TrialView[];
  /** The most that one node can allocate to pods. */
  readonly largestNode: { readonly cpu: string; readonly memory: string } | undefined;
  /** What is known of the cluster's certificates; empty without TLS. */
  readonly certificates: Certificates;
  /** How etcd takes the password of the spec; undefined when it was not asked. */
  readonly authentication: "off" | "in" | "previous" | "out" | undefined;
  /** Why the operator cannot connect to members at all, as a sentence. */
  readonly secretProblem: string | undefined;
  /** The time at which a defragmentation came due, if one is. */
  readonly defragmentationDue: string | undefined;
}
