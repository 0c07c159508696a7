/** What comes next for a backup: pure, from what its pod says. */
import {
  afterFailedAttempt,
  type BackupRecord,
  type BackupStore,
  failedBackup,
  hasBackupEnded,
  pauseBeforeAttempt,
} from "@keelson/kit";
import type { StatusOf } from "keelson";
import type { SampleDBBackup, SampleDBBackupObject } from "../api/backup.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { WorkerView } from "../observe/worker-view.ts";
import { nameInStore } from "../resources/backup-pod.ts";

export type BackupStatus = StatusOf<typeof SampleDBBackup>;

export interface ObservedBackup {
  readonly backup: SampleDBBackupObject;
  readonly db: SampleDBObject | undefined;
  readonly store: BackupStore | undefined;
  /** The pod of the attempt that the status speaks of. */
  readonly worker: WorkerView | undefined;
  /** Pods of earlier attempts that are still there. */
  readonly leftovers: number;
  /** Another backup that must end first. */
  readonly before: string | undefined;
  readonly image: string | undefined;
  readonly nowMs: number;
}

/**
 * - `rest`: it has ended; only leftovers go.
 * - `start`: makes the attempt's pod.
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
      readonly recheckMs: number;
    }
  | BackupRecord<BackupStatus>;

const backoffMs = 5_000;

export function decideBackup(o: ObservedBackup): BackupDecision {
  const { backup, worker, nowMs } = o;
  if (hasBackupEnded(backup.status?.phase)) return { do: "rest" };
  const attempt = backup.status?.attempt ?? 1;
  const status: BackupStatus = {
    ...ownStatus(backup),
    attempt,
    name: nameInStore(backup),
    ...(o.store && { store: o.store }),
  };
  if (worker?.state === "done") return finished(backup, status, worker);
  const endMs = Date.parse(backup.metadata.creationTimestamp) + backup.spec.timeoutSeconds * 1_000;
  if (nowMs >= endMs) {
    const last =
      worker?.state === "working" ? worker.message : (status.failure?.message ?? "no attempt could begin");
    return failedBackup(status, {
      reason: "TimedOut",
      message: `it was not done within ${backup.spec.timeoutSeconds} s: ${last}`,
    });
  }
  if (worker?.state === "failed") return afterFailedAttempt(status, attempt, worker, { nowMs, backoffMs });
  const wait = (
    phase: "Pending" | "Copying",
    reason: string,
    message: string,
    recheckMs = endMs - nowMs,
  ): BackupDecision => ({
    do: "wait",
    reason,
    message,
    status: { ...status, phase },
    recheckMs,
  });
  // What its pod needs to begin has gone with the database. One that has begun may have its copy already.
  if (worker && !o.db && worker.begun === false)
    return failedBackup(status, {
      reason: "DatabaseMissing",
      message: `SampleDB ${backup.spec.database} was deleted before the copy began`,
    });
  if (worker) return wait("Copying", "Copying", worker.message);
  if (o.image === undefined)
    return wait("Pending", "OperatorImageUnknown", "set OPERATOR_IMAGE in the operator's Deployment", 60_000);
  if (!o.db || !o.store)
    return wait(
      "Pending",
      "DatabaseMissing",
      `there is no SampleDB ${backup.spec.database} in this namespace`,
    );
  // A last snapshot is ordered when someone leads, recorded or not; and nobody records anything any more.
  const isLast = backup.spec.primary === true && o.db.metadata.deletionTimestamp !== undefined;
  if (o.db.status?.primary === undefined && backup.spec.cold === undefined && !isLast)
    return wait("Pending", "DatabaseNotReady", `SampleDB ${backup.spec.database} has no primary yet`);
  const pauseMs = pauseBeforeAttempt(status, { nowMs });
  if (pauseMs > 0)
    return wait("Pending", "Retrying", `attempt ${attempt} follows: ${status.failure?.message}`, pauseMs);
  if (o.leftovers > 0) return wait("Pending", "Retrying", "the last attempt's pod is stopping");
  if (o.before !== undefined) return wait("Pending", "Queued", `${o.before} comes first`, 2_000);
  return { do: "start", attempt, status: { ...status, phase: "Copying" } };
}

function finished(
  backup: SampleDBBackupObject,
  status: BackupStatus,
  { manifest }: Extract<WorkerView, { state: "done" }>,
): BackupDecision {
  if (!manifest?.verified)
    return failedBackup(status, {
      reason: "NoReport",
      message: "the report does not say that the backup was verified",
    });
  if (manifest.backupUid !== backup.metadata.uid)
    return failedBackup(status, {
      reason: "NoReport",
      message: `the report speaks of backup ${manifest.backupUid}`,
    });
  const { verified, sha256, sizeBytes, takenAt, redisVersion, rdbVersion, replicationId, offset } = manifest;
  return {
    do: "record",
    status: {
      phase: "Done",
      ...(status.attempt === undefined ? {} : { attempt: status.attempt }),
      ...(status.name === undefined ? {} : { name: status.name }),
      ...(status.store === undefined ? {} : { store: status.store }),
      keys: verified.keys,
      sizeBytes: String(sizeBytes),
      sha256,
      redisVersion,
      rdbVersion,
      ...(replicationId === undefined ? {} : { replicationId }),
      ...(offset === undefined ? {} : { offset }),
      takenAt,
      verifiedAt: verified.at,
    },
    event: {
      type: "Normal",
      reason: "BackupDone",
      message: `${verified.keys} keys, restored into a scratch server and compared`,
    },
  };
}

export function ownStatus({ status = {} }: SampleDBBackupObject): BackupStatus {
  const {
    conditions: _,
    observedGeneration: __,
    inventory: ___,
    steps: ____,
    ...own
  } = status as Record<string, unknown>;
  return own as BackupStatus;
}
