/** What a reconcile says of its object when it ends. Status conditions follow from it. */

/** The object is as its spec says. Ready=True. */
export interface Done {
  readonly outcome: "done";
  readonly message?: string;
  readonly recheckMs?: number;
}

/** Something outside must happen first; a watch or the recheck brings us back. Ready=False, Reconciling=True. */
export interface Waiting {
  readonly outcome: "waiting";
  readonly reason: string;
  readonly message: string;
  readonly recheckMs?: number;
}

/** Waiting cannot fix this: a person must change something. Ready=False, Stalled=True, no retry until a change. */
export interface Failed {
  readonly outcome: "failed";
  readonly reason: string;
  readonly message: string;
}

/** How a reconcile ended: done, waiting for something that has a name, or failed. */
export type Outcome = Done | Waiting | Failed;

/** What an outcome says beside its reason: when to look again, and conditions. */
export interface OutcomeOptions {
  /** Look again after this long, though nothing changed. */
  readonly recheckMs?: number;
}

/** Nothing is left to do: the object is Ready. */
export function done(options: OutcomeOptions & { readonly message?: string } = {}): Done {
  return { outcome: "done", ...options };
}

/** `reason` is an UpperCamelCase fact, `message` a sentence for people. */
export function waiting(reason: string, message: string, options: OutcomeOptions = {}): Waiting {
  return { outcome: "waiting", reason, message, ...options };
}

/** A terminal failure. For what a retry may fix, throw instead: it is retried with backoff. */
export function fail(reason: string, message: string): Failed {
  return { outcome: "failed", reason, message };
}
