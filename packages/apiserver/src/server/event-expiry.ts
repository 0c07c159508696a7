/** Events are kept for a while and then deleted, as if they had been written with a lease. */
import { type Cancel, type Clock, parseTime } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { StatusError } from "../contracts/status-error.ts";
import type { Store } from "../storage/store.ts";

/** Events that expire within this time go together. */
const leastDelayMs = 10_000;
/** So many are deleted at once; the rest waits for the next turn, so that requests have theirs. */
const mostAtOnce = 1000;
const turnMs = 20;

/** Deletes events so long after they were last written. No timer is set while there are none. */
export class EventExpiry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #unsubscribe: () => void;
  #cancel: Cancel | undefined;

  constructor(store: Store, clock: Clock, ttlMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#unsubscribe = this.#table.subscribe(({ type }) => {
      if (type !== "DELETED") this.#schedule(ttlMs);
    });
    if (this.#table.size > 0) this.#schedule(0);
  }

  close(): void {
    this.#unsubscribe();
    this.#cancel?.();
  }

  get #table() {
    return this.#store.table("events");
  }

  #schedule(delayMs: number): void {
    this.#cancel ??= this.#clock.timer(delayMs, () => {
      this.#cancel = undefined;
      this.#sweep();
    });
  }

  #sweep(): void {
    const now = this.#clock.now();
    let next: number | undefined;
    let deleted = 0;
    for (const [key, event] of this.#table.rangeEntries("")) {
      const left = writtenMs(event) + this.#ttlMs - now;
      if (left > 0) {
        next = Math.min(next ?? left, left);
        continue;
      }
      if (deleted === mostAtOnce) {
        this.#schedule(turnMs);
        return;
      }
      if (this.#delete(key, event)) deleted++;
      else next = 0;
    }
    if (next !== undefined) this.#schedule(Math.max(next, leastDelayMs));
  }

  /** False when the disk takes no writes at the moment. */
  #delete(key: string, event: ApiObject): boolean {
    try {
      this.#store.delete(this.#table, key, event);
      return true;
    } catch (error) {
      if (error instanceof StatusError) return false;
      throw error;
    }
  }
}

/** By the server's own marks: the times in an event are its author's. */
function writtenMs({ metadata }: ApiObject): number {
  const marks = (metadata.managedFields ?? []) as { time?: string }[];
  const times = [metadata.creationTimestamp, ...marks.map(({ time }) => time)];
  return Math.max(0, ...times.flatMap((time) => (typeof time === "string" ? parseTime(time) : [])));
}
