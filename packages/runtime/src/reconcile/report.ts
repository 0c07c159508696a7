/** What tools hear of every reconcile, by a channel of node:diagnostics_channel. It costs nothing while nobody listens. */
import { channel } from "node:diagnostics_channel";
import type { Cause } from "../controller/context.ts";

/** One reconcile that has ended. */
export interface ReconcileReport {
  readonly controller: string;
  /** `namespace/name`, or the name alone. */
  readonly key: string;
  /** Everything that asked for it since the last one. */
  readonly causes: readonly Cause[];
  /** `gone`: there is no object of this key any more. `error`: it threw, and is tried again. */
  readonly outcome: "done" | "waiting" | "failed" | "error" | "gone";
  /** What it waits for or why it failed: the reason and the message of its outcome, or the error's. */
  readonly reason?: string;
  readonly message?: string;
  /** When it is looked at again, though nothing changed. */
  readonly nextMs?: number;
  readonly durationMs: number;
}

/** The channel that each {@link ReconcileReport} is published on. */
export const reconcileChannel = "keelson:reconcile";

/** The channel that hears when an operator's caches are complete: it works, or stands by. */
export const operatorChannel = "keelson:operator";

const operators = channel(operatorChannel);

export function reportSynced(name: string): void {
  if (operators.hasSubscribers) operators.publish({ name });
}

const reports = channel(reconcileChannel);

/** Makes the report only when somebody listens. */
export function report(make: () => ReconcileReport): void {
  if (reports.hasSubscribers) reports.publish(make());
}
