/** Remembers every write and read of some clients, and counts what was acknowledged. */
import { type Clock, systemClock } from "@keelson/core";
import { checkHistory, type HistoryOptions, type HistoryReport, type Recovery } from "./history.ts";
import type { Operation } from "./operation.ts";

/** What a database answers to a write. */
export interface Acknowledgement {
  /** The database's own counter of changes, if the answer carries one. */
  readonly revision?: bigint | undefined;
}

/** What a database answers to a read. */
export interface Reading extends Acknowledgement {
  /** 0 when the key does not exist. */
  readonly value: number;
}

/** A part of a history, as clients experienced it. */
export interface LedgerSummary {
  readonly acknowledged: number;
  /** Acknowledged writes per second of the time without outages. */
  readonly perSecond: number;
  /** Writes that were given up without an answer. */
  readonly failed: number;
  /** The longest time of one acknowledged write, retries included. */
  readonly slowestMs: number;
  /** The longest time in which no write at all was acknowledged. */
  readonly longestGapMs: number;
  /** Why writes failed, without repetition. */
  readonly errors: readonly string[];
}

/** A time without any acknowledged write that is longer than this is an outage. */
const outageMs = 1_000;

/**
 * A ledger of acknowledged writes. It calls the database through functions that the caller brings, so it works with any.
 *
 * @example
 * const ledger = new Ledger();
 * await ledger.write("account-1", 7, () => sql`UPDATE …`);
 * expect(ledger.check(new Map([["account-1", 7]])).violations).toEqual([]);
 */
export class Ledger {
  readonly #clock: Clock;
  readonly #history: Operation[] = [];
  readonly #errors: { readonly atMs: number; readonly message: string }[] = [];
  readonly #waiting = new Set<{ readonly sinceMs: number; readonly resolve: () => void }>();
  #latestStartMs = Number.NEGATIVE_INFINITY;
  #latestEndMs: number | undefined;
  #recovery: Recovery | undefined;

  /** Default: the clock of this machine. */
  constructor(options: { readonly clock?: Clock } = {}) {
    this.#clock = options.clock ?? systemClock;
  }

  /** Milliseconds of the monotonic clock that all operations are timed with. */
  get now(): number {
    return this.#clock.monotonic();
  }

  /** When the latest write was acknowledged; undefined before the first. */
  get latestMs(): number | undefined {
    return this.#latestEndMs;
  }

  /** Everything so far, in the order in which it ended. */
  get history(): readonly Operation[] {
    return this.#history;
  }

  /**
   * Runs a write and records it: acknowledged when `run` resolves, of unknown outcome when it rejects. Resolves to
   * whether it was acknowledged. Values of a key must rise, and none may be written twice.
   */
  async write(key: string, value: number, run: () => Promise<Acknowledgement | undefined>): Promise<boolean> {
    const startMs = this.now;
    try {
      const answer = await run();
      const endMs = this.now;
      this.#history.push({ key, type: "write", value, startMs, endMs, revision: answer?.revision });
      this.#latestStartMs = Math.max(this.#latestStartMs, startMs);
      this.#latestEndMs = endMs;
      this.#wake();
      return true;
    } catch (error) {
      this.#history.push({ key, type: "write", value, startMs, endMs: undefined, revision: undefined });
      this.#errors.push({ atMs: this.now, message: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  /** Runs a read and records it. A read that fails says nothing, and is not recorded. */
  async read(key: string, run: () => Promise<Reading>): Promise<Reading | undefined> {
    const startMs = this.now;
    try {
      const reading = await run();
      const { value, revision } = reading;
      this.#history.push({ key, type: "read", value, startMs, endMs: this.now, revision });
      return reading;
    } catch {
      return undefined;
    }
  }

  /** What clients experienced between two times. Default: until now. */
  summary(sinceMs: number, untilMs = this.now): LedgerSummary {
    const writes = this.#history.filter(({ type }) => type === "write");
    const ended = writes.flatMap(({ startMs, endMs }) =>
      endMs === undefined || endMs < sinceMs || endMs > untilMs ? [] : [{ startMs, endMs }],
    );
    const moments = [sinceMs, ...ended.map(({ endMs }) => endMs).sort((a, b) => a - b), untilMs];
    const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
    const outages = gaps.filter((gap) => gap > outageMs).reduce((sum, gap) => sum + gap, 0);
    const failures = this.#errors.filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs);
    return {
      acknowledged: ended.length,
      perSecond: ended.length / Math.max(0.001, (untilMs - sinceMs - outages) / 1_000),
      failed: failures.length,
      slowestMs: greatest(ended.map(({ startMs, endMs }) => endMs - startMs)),
      longestGapMs: greatest(gaps),
      errors: [...new Set(failures.map(({ message }) => message))],
    };
  }

  /** Resolves when a write that started at or after this time has been acknowledged. */
  async acknowledgedSince(sinceMs: number): Promise<void> {
    if (this.#latestStartMs >= sinceMs) return;
    await new Promise<void>((resolve) => this.#waiting.add({ sinceMs, resolve }));
  }

  /** Acknowledged writes so far whose revision is above this one, and when the first of them was acknowledged. */
  acknowledgedAbove(revision: bigint): { readonly count: number; readonly firstMs: number | undefined } {
    const ends = this.#history.flatMap(({ type, endMs, revision: own = 0n }) =>
      type === "write" && endMs !== undefined && own > revision ? [endMs] : [],
    );
    const first = ends.reduce((earliest, end) => Math.min(earliest, end), Number.POSITIVE_INFINITY);
    return { count: ends.length, firstMs: ends.length === 0 ? undefined : first };
  }

  /** From now on the database continues from this revision: what was acknowledged above it may be gone. */
  recoveredFrom(revision: bigint): void {
    this.#recovery = { atMs: this.now, revision };
  }

  /** Checks everything so far against what the database holds now. */
  check(final: ReadonlyMap<string, number>, options: Pick<HistoryOptions, "order"> = {}): HistoryReport {
    return checkHistory(this.#history, final, { ...options, recovery: this.#recovery });
  }

  #wake(): void {
    for (const waiter of this.#waiting) {
      if (this.#latestStartMs < waiter.sinceMs) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }
}

function greatest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
