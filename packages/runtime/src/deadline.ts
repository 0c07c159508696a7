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

/**
 * Calls `work` with a signal of its own and settles with it, or rejects as soon as the signal aborts. The work
 * may still run on then: whatever it was handed must refuse service once the signal is aborted.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, timeoutMs, signal: outer } = options;
  const controller = new AbortController();
  const aborted = Promise.withResolvers<never>();
  const abort = (reason: unknown) => {
    controller.abort(reason);
    aborted.reject(reason);
  };
  aborted.promise.catch(() => {});
  const onOuter = () => abort(outer.reason);
  if (outer.aborted) onOuter();
  else outer.addEventListener("abort", onOuter, { once: true });
  const cancel = clock.timer(timeoutMs, () => abort(options.expired()));
  try {
    if (controller.signal.aborted) throw controller.signal.reason;
    const running = work(controller.signal);
    try {
      return await Promise.race([running, aborted.promise]);
    } finally {
      if (controller.signal.aborted) options.stragglers?.add(running);
    }
  } finally {
    cancel();
    outer.removeEventListener("abort", onOuter);
  }
}
