/** What comes next for a backup: pure, from what its pods report. */

import {
  afterFailedAttempt,
  type BackupRecord,
  failedBackup,
  hasBackupEnded,
  ownStatus,
  pauseBeforeAttempt,
} from "@keelson/kit";
import type { StatusOf } from "keelson";
import type { EtcdBackup, EtcdBackupObject } from "../api/backup.ts";
import type { EtcdClusterObject } from "../api/cluster.ts";
import { conditions } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import type { Manifest } from "../engine/snapshot-archive.ts";
import type { WorkerView } from "../observe/backup-pod-view.ts";
import { nameInStore } from "../resources/backup-pod.ts";

export type BackupStatus = StatusOf<typeof EtcdBackup>;

export interface ObservedBackup {
  readonly backup: EtcdBackupObject;
  readonly cluster: EtcdClusterObject | undefined;
  /** The pod of the attempt in the status. */
  readonly worker: WorkerView | undefined;
  /** Pods of earlier attempts that are still there. */
  readonly leftovers: number;
  /** Backups of the same cluster that are taken now, or come first. */
  readonly ahead: readonly string[];
  readonly agentImage: string | undefined;
  readonly nowMs: number;
}

/**
 * - `rest`: it has ended; only leftovers are deleted.
 * - `start`: creates the attempt's pod.
 * - `wait`: something else must happen first.
 * - `record`: the status changes; what follows from it follows in the next run.
 */
export type BackupDecision =
  | { readonly do: "rest" }
  | { readonly do: "start"; readonly attempt: number; readonly status: BackupStatus }
  | {
      readonly do: "wait";
      readonly reason: string;
      readonly message: string;
      readonly status: BackupStatus;
      readonly recheckMs?: number;
    }
  | BackupRecord<BackupStatus>
  | { readonly do: "refuse"; readonly reason: string; readonly message: string };

/** Backups of one cluster that are taken at once: each reads the whole database from a member that also serves clients. */
const mostAtOnce = 2;

/**
 * The backups that have a place before this one: those that are being taken, and those that wait and are older. Every
 * backup judges by the same order, so no two of them take the same place.
 */
export function aheadOf(
  backup: EtcdBackupObject,
  all: readonly EtcdBackupObject[],
  nowMs: number,
): readonly string[] {
  const isTaken = ({ status }: EtcdBackupObject) =>
    status?.phase === "Copying" || status?.phase === "Verifying";
  const rests = ({ status }: EtcdBackupObject) => pauseBeforeAttempt(status ?? {}, { nowMs }) > 0;
  const order = ({ metadata }: EtcdBackupObject) => `${metadata.creationTimestamp}/${metadata.name}`;
  return all
    .filter(
      (other) =>
        other.metadata.uid !== backup.metadata.uid &&
        other.metadata.namespace === backup.metadata.namespace &&
        other.spec.cluster === backup.spec.cluster &&
        other.metadata.deletionTimestamp === undefined &&
        !hasBackupEnded(other.status?.phase) &&
        !isRemoved(other) &&
        (isTaken(other) || (!rests(other) && order(other) < order(backup))),
    )
    .map(({ metadata }) => metadata.name);
}

/** Whether its data is being removed: it takes no backup any more, whatever its phase was before. */
export function isRemoved({ metadata, status }: EtcdBackupObject): boolean {
  return metadata.annotations?.[annotations.removeData] === "true" || status?.removal !== undefined;
}

export function decideBackup(o: ObservedBackup): BackupDecision {
  const { backup, worker, nowMs } = o;
  if (hasBackupEnded(backup.status?.phase)) return { do: "rest" };
  const attempt = backup.status?.attempt ?? 1;
  const status = { ...ownStatus(backup), attempt, name: nameInStore(backup) };
  if (worker?.state === "done") return finished(backup, status, worker.manifest);
  const endMs = Date.parse(backup.metadata.creationTimestamp) + backup.spec.timeoutSeconds * 1_000;
  if (nowMs >= endMs) {
    return failedBackup(status, {
      reason: "TimedOut",
      message: `it was not done within ${backup.spec.timeoutSeconds} s: ${lastMessage(status, worker)}`,
    });
  }
  if (worker?.state === "failed") return afterFailedAttempt(status, attempt, worker, { nowMs });
  if (worker) {
    const phase = worker.copied ? "Verifying" : "Copying";
    return {
      do: "wait",
      reason: phase,
      message: worker.message,
      status: { ...status, phase },
      recheckMs: endMs - nowMs,
    };
  }
  return beforeStart(o, status, attempt, endMs);
}

function beforeStart(
  o: ObservedBackup,
  status: BackupStatus,
  attempt: number,
  endMs: number,
): BackupDecision {
  const { backup, cluster, agentImage, nowMs } = o;
  const wait = (reason: string, message: string, recheckMs = endMs - nowMs): BackupDecision => ({
    do: "wait",
    reason,
    message,
    status: { ...status, phase: "Pending" },
    recheckMs,
  });
  const { cluster: name } = backup.spec;
  if (agentImage === undefined) {
    return {
      do: "refuse",
      reason: "OperatorImageUnknown",
      message:
        "the operator does not know its own image, whose agent takes backups; set OPERATOR_IMAGE in its Deployment",
    };
  }
  if (!cluster) return wait("ClusterMissing", `there is no EtcdCluster ${name} in this namespace`);
  const voters = (cluster.status?.members ?? []).filter(({ phase }) => phase === "Voter");
  if (voters.length === 0) return wait("ClusterNotReady", `EtcdCluster ${name} has no voting member yet`);
  if (isUnavailable(cluster))
    return wait("ClusterNotReady", `EtcdCluster ${name} has no quorum; its conditions say why`, 5_000);
  const waitMs = pauseBeforeAttempt(status, { nowMs });
  if (waitMs > 0) return wait("Retrying", `attempt ${attempt} follows: ${status.failure?.message}`, waitMs);
  if (o.ahead.length >= mostAtOnce)
    return wait("Queued", `${o.ahead.slice(0, 3).join(", ")} come first: ${mostAtOnce} at a time`, 5_000);
  if (o.leftovers > 0) return wait("Retrying", "the last attempt's pod is stopping");
  return {
    do: "start",
    attempt,
    status: { ...status, phase: "Copying", attempt, name: nameInStore(backup) },
  };
}

function isUnavailable({ status }: EtcdClusterObject): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === conditions.available && is === "False") ??
    false
  );
}

function finished(
  backup: EtcdBackupObject,
  status: BackupStatus & { readonly attempt: number; readonly name: string },
  manifest: Manifest | undefined,
): BackupDecision {
  const problem = manifestProblem(backup, manifest);
  if (!manifest || problem !== undefined)
    return failedBackup(status, { reason: "NoReport", message: problem ?? "the report has no manifest" });
  const { verified } = manifest;
  const { clusterId, etcdVersion, sha256, sizeBytes, takenAt } = manifest;
  return {
    do: "record",
    status: {
      phase: "Done",
      attempt: status.attempt,
      name: status.name,
      clusterId,
      etcdVersion,
      sha256,
      sizeBytes: String(sizeBytes),
      takenAt,
      revision: verified?.revision ?? manifest.revisionAtLeast,
      ...(verified ? { verifiedAt: verified.at, keys: verified.keys, compared: verified.compared } : {}),
    },
    event: {
      type: "Normal",
      reason: "BackupDone",
      message: verified
        ? `revision ${verified.revision} with ${verified.keys} keys, restored and compared`
        : `revision ${manifest.revisionAtLeast} or later, not verified`,
    },
  };
}

function manifestProblem(backup: EtcdBackupObject, manifest: Manifest | undefined): string | undefined {
  if (!manifest) return undefined;
  if (manifest.backupUid !== backup.metadata.uid) return `the report is of backup ${manifest.backupUid}`;
  return backup.spec.verify && !manifest.verified
    ? "the report does not say that it was verified"
    : undefined;
}

function lastMessage(status: BackupStatus, worker: WorkerView | undefined): string {
  if (worker?.state === "working" || worker?.state === "failed") return worker.message;
  return status.failure?.message ?? "no attempt could start";
}
