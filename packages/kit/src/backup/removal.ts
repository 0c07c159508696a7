/** The removal of a backup's data from its store, one pod after another until one succeeds. */
import { fail, type Outcome, waiting } from "@keelson/runtime";
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
 * What comes next. Pure. A store may be away for days: attempts go on, with a pause that doubles from 10 s to 5 min. The pod that
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

/** What a removal does to the objects of an operator. */
export interface RemovalSteps {
  /** The pod, once there is one. */
  readonly pod: string | undefined;
  start(): Promise<unknown>;
  deletePod(): Promise<unknown>;
  /** The status from now on: what is known of failures, or that the data is gone. */
  record(status: { readonly removal: BackupRemoval } | { readonly phase: "Removed" }): void;
  event(type: "Normal" | "Warning", reason: string, message: string): void;
}

/** Does what was decided, and says what is waited for. */
export async function carryOutRemoval(decision: RemovalDecision, steps: RemovalSteps): Promise<Outcome> {
  switch (decision.do) {
    case "start":
      await steps.start();
      return waiting("Removing", "the pod that removes the data is starting");
    case "wait": {
      const { reason, message, recheckMs } = decision;
      return waiting(reason, message, recheckMs === undefined ? {} : { recheckMs });
    }
    case "record":
      steps.record({ removal: decision.removal });
      steps.event("Warning", "RemovalFailed", decision.message);
      return waiting(decision.removal.reason, decision.message, { recheckMs: 1 });
    case "clear":
      await steps.deletePod();
      return waiting("Removing", `pod ${steps.pod}, which failed, is deleted first`, { recheckMs: 1_000 });
    case "removed": {
      const message = "the data was removed from the store";
      steps.record({ phase: "Removed" });
      steps.event("Normal", "DataRemoved", message);
      return waiting("Recorded", message, { recheckMs: 1 });
    }
    case "refuse":
      return fail(decision.reason, decision.message);
  }
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
