/** The removal of a backup's data from its store, one pod after another until one succeeds. Pure. */
import { z } from "zod";
import { isTerminalBackupCode } from "../errors.ts";

/** The field of a backup's status that remembers failed attempts to remove its data. */
export const backupRemovalSchema = z
  .object({
    failures: z.int().describe("How many attempts failed."),
    pod: z.string().describe("UID of the pod that failed last."),
    retryAfter: z.string().describe("When the next attempt starts."),
    reason: z.string(),
    message: z.string(),
  })
  .describe("Attempts to remove the data from the store that failed.");

/** What {@link backupRemovalSchema} reads. */
export type BackupRemoval = z.output<typeof backupRemovalSchema>;

/** The pod that removes the data. */
export type RemoverView = { readonly uid: string } & (
  | { readonly state: "working"; readonly message: string }
  | { readonly state: "done" }
  | { readonly state: "failed"; readonly reason: string; readonly message: string }
);

/**
 * - `start`: creates the pod.
 * - `wait`: something else must happen first.
 * - `record`: an attempt failed. The status changes, and an event says so; what follows from it follows in the next run.
 * - `clear`: deletes the pod that failed, so that another can start.
 * - `removed`: the data is gone.
 * - `refuse`: no attempt can succeed.
 */
export type RemovalDecision =
  | { readonly do: "start" | "clear" | "removed" }
  | { readonly do: "wait"; readonly reason: string; readonly message: string; readonly recheckMs?: number }
  | { readonly do: "record"; readonly removal: BackupRemoval; readonly message: string }
  | { readonly do: "refuse"; readonly reason: string; readonly message: string };

const firstPauseMs = 10_000;
const longestPauseMs = 300_000;

/**
 * What comes next. A store may be away for days: attempts go on, with a pause that doubles from 10 s to 5 min. The pod that
 * failed stays during the pause, so that its log can be read.
 */
export function decideRemoval(
  removal: BackupRemoval | undefined,
  pod: RemoverView | undefined,
  { nowMs }: { readonly nowMs: number },
): RemovalDecision {
  if (pod?.state === "working") return { do: "wait", reason: "Removing", message: pod.message };
  if (pod?.state === "done") return { do: "removed" };
  if (pod && isTerminalBackupCode(pod.reason))
    return { do: "refuse", reason: pod.reason, message: pod.message };
  if (pod && removal?.pod !== pod.uid) return afterFailedRemoval(removal, pod, nowMs);
  const pauseMs = removal ? pauseBefore(removal, nowMs) : 0;
  if (removal && pauseMs > 0) {
    const { failures, retryAfter, reason, message } = removal;
    return {
      do: "wait",
      reason,
      message: `attempt ${failures + 1} to remove the data follows at ${retryAfter}: ${message}`,
      recheckMs: pauseMs,
    };
  }
  return { do: pod ? "clear" : "start" };
}

function afterFailedRemoval(
  removal: BackupRemoval | undefined,
  { uid, reason, message }: RemoverView & { readonly state: "failed" },
  nowMs: number,
): RemovalDecision {
  const failures = (removal?.failures ?? 0) + 1;
  const retryAfter = new Date(nowMs + pauseAfter(failures)).toISOString();
  return {
    do: "record",
    removal: { failures, pod: uid, retryAfter, reason, message },
    message: `attempt ${failures} to remove the data: ${message}`,
  };
}

function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs);
}

/** More than the whole pause means that the clock was set back: then it waits no longer. */
function pauseBefore({ failures, retryAfter }: BackupRemoval, nowMs: number): number {
  const leftMs = Date.parse(retryAfter) - nowMs;
  return leftMs > 0 && leftMs <= pauseAfter(failures) ? leftMs : 0;
}
