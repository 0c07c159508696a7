/** What becomes of a backup whose attempt failed: another attempt later, or the end. Pure. */
import { isTerminalBackupCode } from "../errors.ts";

/** The part of a backup's status that attempts change. */
export interface AttemptStatus {
  readonly phase?: string | undefined;
  readonly attempt?: number | undefined;
  readonly retryAfter?: string | undefined;
  readonly failure?: BackupFailure | undefined;
}

/** Why an attempt or a backup failed. */
export interface BackupFailure {
  readonly reason: string;
  readonly message: string;
}

/** A changed status, and the event that tells of it. */
export interface BackupRecord<S> {
  readonly do: "record";
  readonly status: S;
  readonly event: {
    readonly type: "Normal" | "Warning";
    readonly reason: string;
    readonly message: string;
  };
}

/** Whether nothing more comes after this phase of a backup. */
export function hasBackupEnded(phase: string | undefined): boolean {
  return phase === "Done" || phase === "Failed" || phase === "Removed";
}

/**
 * After attempt `attempt` failed: the next one after a pause that doubles each time, or the end of the backup when its
 * attempts are used up or no attempt can succeed.
 *
 * @param options - `attempts`: default 3. `backoffMs`: the first pause, default 10 s.
 */
export function afterFailedAttempt<S extends AttemptStatus>(
  status: S,
  attempt: number,
  { reason, message }: BackupFailure,
  options: { readonly nowMs: number; readonly attempts?: number; readonly backoffMs?: number },
): BackupRecord<S> {
  const { nowMs, attempts = 3, backoffMs = 10_000 } = options;
  if (isTerminalBackupCode(reason) || attempt >= attempts) return failedBackup(status, { reason, message });
  const retryAfter = new Date(nowMs + backoffMs * 2 ** (attempt - 1)).toISOString();
  return {
    do: "record",
    status: { ...status, phase: "Pending", attempt: attempt + 1, retryAfter, failure: { reason, message } },
    event: {
      type: "Warning",
      reason: "AttemptFailed",
      message: `attempt ${attempt} of ${attempts}: ${message}`,
    },
  };
}

/**
 * How long the next attempt still waits, in milliseconds. More than its whole pause means that the clock was set back:
 * then it waits no longer.
 *
 * @param options - `backoffMs`: as for {@link afterFailedAttempt}.
 */
export function pauseBeforeAttempt(
  { attempt = 1, retryAfter = "" }: AttemptStatus,
  options: { readonly nowMs: number; readonly backoffMs?: number },
): number {
  const { nowMs, backoffMs = 10_000 } = options;
  const leftMs = Date.parse(retryAfter) - nowMs;
  return leftMs > 0 && leftMs <= backoffMs * 2 ** (attempt - 2) ? leftMs : 0;
}

/** The end of a backup that cannot succeed. */
export function failedBackup<S extends AttemptStatus>(
  status: S,
  { reason, message }: BackupFailure,
): BackupRecord<S> {
  const { retryAfter: _, ...rest } = status;
  return {
    do: "record",
    status: { ...(rest as S), phase: "Failed", failure: { reason, message } },
    event: { type: "Warning", reason: "BackupFailed", message },
  };
}
