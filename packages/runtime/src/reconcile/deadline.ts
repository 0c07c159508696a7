/** Runs work that must end in time, and ends it for those who wait even when it does not. */
import type { Clock } from "@keelson/core";

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the work early: the operator stops, the lease is lost. */
  readonly signal: AbortSignal;
  /** The reason with which the work is aborted when time is up. */
  readonly expired: () => Error;
  /** Told of work that was aborted and has not ended by then. */
  readonly stragglers?: Stragglers;
}

/** Work that was told to end and has not ended yet. It can reach nothing of ours any more, but it may still do harm elsewhere. */
export class Stragglers {
  readonly #works = new Set<Promise<unknown>>();

  get size(): number {
    return this.#works.size;
  }

  add(work: Promise<unknown>): void {
    this.#works.add(work);
    const forget = () => this.#works.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when all of it has ended. */
  async ended(): Promise<void> {
    while (this.#works.size > 0) await Promise.allSettled(this.#works);
  }
}

/** What work that must end in time is told. */
export class Scope {
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Made for the first who asks: most work is short and asks nobody, and a signal would cost more than the rest. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** What ends with a signal. One listener stands for all of it. */
const followers = new WeakMap<AbortSignal, Set<(reason: unknown) => void>>();

function follow(signal: AbortSignal, abort: (reason: unknown) => void): () => void {
  let all = followers.get(signal);
  if (!all) {
    const added = new Set<(reason: unknown) => void>();
    signal.addEventListener("abort", () => {
      for (const each of added) each(signal.reason);
    });
    followers.set(signal, added);
    all = added;
  }
  const those = all;
  those.add(abort);
  return () => those.delete(abort);
}

/**
 * Calls `work` with a scope of its own and settles with it, or rejects as soon as the scope is aborted. The work
 * may still run on then: whatever it was handed must refuse service once the scope is aborted.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  work: (scope: Scope) => Promise<T>,
): Promise<T> {
  const { clock, timeoutMs, signal: outer } = options;
  if (outer.aborted) throw outer.reason;
  const scope = new Scope();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = (reason: unknown) => {
    scope.abort(reason);
    reject(reason);
  };
  const unfollow = follow(outer, abort);
  const cancel = clock.timer(timeoutMs, () => abort(options.expired()));
  try {
    const running = work(scope);
    running.then(resolve, reject);
    try {
      return await promise;
    } finally {
      if (scope.aborted) options.stragglers?.add(running);
    }
  } finally {
    cancel();
    unfollow();
  }
}
