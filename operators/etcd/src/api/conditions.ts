/** Conditions and reasons: public API. Ready, Reconciling and Stalled follow from the outcome of a reconcile. */
import { backupHealthyCondition } from "@keelson/kit";

export const conditions = {
  /** A linearizable request was answered: a majority of the voters is connected. */
  available: "Available",
  /** The operator is bringing the cluster closer to its spec. */
  progressing: "Progressing",
  /** Something is wrong, though the cluster may serve. */
  degraded: "Degraded",
  /** Backups are taken as scheduled, and each was verified by restoring it. */
  backupHealthy: backupHealthyCondition,
} as const;

/** Reasons of conditions and events. */
export const reasons = {
  bootstrapping: "Bootstrapping",
  growing: "Growing",
  shrinking: "Shrinking",
  /** A member serves for etcd, and its pod is not ready yet. */
  settling: "Settling",
  healing: "Healing",
  rolling: "RollingOut",
  rollingBack: "RollingBack",
  rolloutFailed: "RolloutFailed",
  /** A Secret that the spec names is missing or lacks something. */
  secretMissing: "SecretMissing",
  /** etcd requires a password that the operator does not have. */
  lockedOut: "LockedOut",
  securing: "Securing",
  versionRefused: "VersionRefused",
  specRefused: "SpecRefused",
  clusterIdMismatch: "ClusterIdMismatch",
  noQuorum: "NoQuorum",
  quorumLost: "QuorumLost",
  allDataLost: "AllDataLost",
  recovering: "Recovering",
  unreachable: "MembersUnreachable",
  unhealthy: "MembersUnhealthy",
  noSpace: "NoSpace",
  corrupt: "Corrupt",
  /** etcd has members that this operator did not add. */
  unknownMembers: "UnknownMembers",
  defragmenting: "Defragmenting",
  resizing: "Resizing",
  hibernating: "Hibernating",
  hibernated: "Hibernated",
  paused: "Paused",
  deleting: "Deleting",
  finalBackupFailed: "FinalBackupFailed",
  healthy: "Healthy",
  quorum: "Quorum",
} as const;

export type Reason = (typeof reasons)[keyof typeof reasons];
