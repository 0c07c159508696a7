/** How long a container that keeps ending must wait before it is started again. */
import type { Clock } from "@keelson/core";

export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The kubelet's: ten seconds, doubling, at most five minutes. */
export const containerBackoff: BackoffLimits = { initialMs: 10_000, maxMs: 300_000 };

interface Entry {
  delayMs: number;
  updatedAt: number;
}

/**
 * Delays per key. The first start after an end is immediate; each further one doubles the delay, counted from
 * the end. A key that was quiet for twice the maximum begins again.
 */
export class RestartBackoff {
  readonly #clock: Clock;
  readonly #limits: BackoffLimits;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, limits: BackoffLimits = containerBackoff) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Milliseconds until `key`, which ended at `endedAt`, may start; 0 when it may now. */
  remainingMs(key: string, endedAt: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#isStale(entry, endedAt)) return 0;
    return Math.max(0, endedAt + entry.delayMs - this.#clock.now());
  }

  /** The delay in force, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? this.#limits.initialMs;
  }

  /** Called when `key` is started after an end at `endedAt`: the next delay grows. */
  advance(key: string, endedAt: number): void {
    const entry = this.#entries.get(key);
    const delayMs =
      entry === undefined || this.#isStale(entry, endedAt)
        ? this.#limits.initialMs
        : Math.min(entry.delayMs * 2, this.#limits.maxMs);
    this.#entries.set(key, { delayMs, updatedAt: this.#clock.now() });
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  #isStale(entry: Entry, endedAt: number): boolean {
    return endedAt - entry.updatedAt > 2 * this.#limits.maxMs;
  }
}
