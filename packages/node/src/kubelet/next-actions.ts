/** Decides what a living pod needs next: pure, from what is known to what is to be done. */
import type { PodSpec } from "@keelson/core/kinds";
import { type ContainerRecord, isInitialized, shouldRestart } from "./container-record.ts";

export type Action =
  | { readonly do: "start"; readonly record: ContainerRecord }
  /** It must wait before it is started again. */
  | { readonly do: "backOff"; readonly record: ContainerRecord; readonly delayMs: number };

export interface Decision {
  readonly actions: readonly Action[];
  /** No regular container runs and none will: the pod is over, and what still runs is to be stopped. */
  readonly over: boolean;
}

export interface DecisionInput {
  readonly spec: PodSpec;
  readonly records: readonly ContainerRecord[];
  /** Milliseconds until an ended container may start; 0 when it may now. */
  readonly backoffMs: (record: ContainerRecord) => number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function nextActions(input: DecisionInput): Decision {
  const { spec, records } = input;
  const actions: Action[] = [];
  const consider = (record: ContainerRecord) => {
    if (record.busy || (record.heldUntil ?? 0) > input.now) return;
    if (record.state === "none") actions.push({ do: "start", record });
    else if (record.state === "exited" && shouldRestart(record, spec, record.termination?.exitCode ?? 0)) {
      const delayMs = input.backoffMs(record);
      actions.push(delayMs > 0 ? { do: "backOff", record, delayMs } : { do: "start", record });
    }
  };
  const initialized = isInitialized(records);
  const progress = initialized ? sidecarsOnly(records, consider) : initialize(input, consider);
  if (progress === "failed") return { actions: [], over: true };
  if (progress === "wait") return { actions, over: false };
  const regular = records.filter(({ kind }) => kind === "regular");
  const over =
    initialized &&
    regular.every(
      (record) =>
        record.state === "exited" &&
        !record.busy &&
        !shouldRestart(record, spec, record.termination?.exitCode ?? 0),
    );
  if (over) return { actions: [], over: true };
  for (const record of regular) consider(record);
  for (const record of records) if (record.kind === "ephemeral" && record.state === "none") consider(record);
  return { actions, over: false };
}

/** One after the other: each must have ended well, or, as a sidecar, have started, before the next begins. */
function initialize(
  input: DecisionInput,
  consider: (record: ContainerRecord) => void,
): "done" | "wait" | "failed" {
  for (const record of input.records) {
    if (record.kind === "sidecar") {
      consider(record);
      if (record.state !== "running" || !record.started) return "wait";
      continue;
    }
    if (record.kind !== "init") continue;
    if (record.state === "exited" && !record.busy) {
      const code = record.termination?.exitCode ?? 0;
      if (code === 0) continue;
      if (!shouldRestart(record, input.spec, code)) return "failed";
    }
    consider(record);
    return "wait";
  }
  return "done";
}

function sidecarsOnly(
  records: readonly ContainerRecord[],
  consider: (record: ContainerRecord) => void,
): "done" {
  for (const record of records) if (record.kind === "sidecar") consider(record);
  return "done";
}
