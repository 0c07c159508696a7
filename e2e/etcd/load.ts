/** Clients that write and read through all members, at a steady rate, and remember everything. */
import { setTimeout as sleep } from "node:timers/promises";
import { check, type Loss, type Operation, type Verdict } from "@keelson/kit/testing";
import { type Answer, Doors, type Endpoint, raise, read } from "./client.ts";

export interface LoadOptions {
  /** The way into the cluster's network. */
  readonly socket: string;
  /** Members that serve now. */
  readonly endpoints: () => readonly Endpoint[];
  /** Begins the names of its keys, which nobody else writes. */
  readonly prefix: string;
}

/** What all clients together try. Writers have a key of their own each. */
export const load = { writers: 48, readers: 4, writesPerSecond: 400 } as const;

/** How long a client tries before it gives a write up. */
const giveUpMs = 5_000;
/** A time without any acknowledged write that is longer than this is an outage, and told as one. */
const outageMs = 1_000;

/** A stretch of a load's life, as clients felt it. */
export interface Felt {
  readonly acknowledged: number;
  /** Acknowledged writes per second of the time in which writes were acknowledged at all. */
  readonly perSecond: number;
  /** Writes that no retry within five seconds brought through. */
  readonly failed: number;
  /** The longest time of one write, retries included. */
  readonly slowestMs: number;
  /** The longest time in which no write at all was acknowledged. */
  readonly longestGapMs: number;
  /** What the last attempts of writes that failed were answered, without repetition. */
  readonly refusals: readonly string[];
}

export class Load {
  readonly #options: LoadOptions;
  readonly #doors: Doors;
  readonly #history: Operation[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #refusals: { readonly atMs: number; readonly why: string }[] = [];
  readonly #readsEveryMs = 40;
  #lastStartMs = 0;
  #loss: Loss | undefined;
  #stopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#doors = new Doors(options.socket);
    const { writers, readers, writesPerSecond } = load;
    const pauseMs = (1_000 * writers) / writesPerSecond;
    for (let index = 0; index < writers; index++)
      this.#running.push(this.#write(this.key(index), index, pauseMs));
    for (let index = 0; index < readers; index++) this.#running.push(this.#read(index, writers));
  }

  get now(): number {
    return performance.now();
  }

  key(index: number): string {
    return `${this.#options.prefix}/${index}`;
  }

  /** What clients felt since then. */
  felt(sinceMs: number, untilMs = this.now): Felt {
    const writes = this.#history.filter(
      ({ type, startMs, endMs }) =>
        type === "write" && (endMs ?? startMs + giveUpMs) >= sinceMs && startMs <= untilMs,
    );
    const ends = writes
      .flatMap(({ endMs }) => (endMs === undefined || endMs < sinceMs || endMs > untilMs ? [] : [endMs]))
      .sort((a, b) => a - b);
    const moments = [sinceMs, ...ends, untilMs];
    const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
    const outages = gaps.filter((gap) => gap > outageMs).reduce((sum, gap) => sum + gap, 0);
    const times = writes.flatMap(({ startMs, endMs }) => (endMs === undefined ? [] : [endMs - startMs]));
    return {
      acknowledged: ends.length,
      perSecond: ends.length / Math.max(0.001, (untilMs - sinceMs - outages) / 1_000),
      failed: writes.filter(({ endMs }) => endMs === undefined).length,
      slowestMs: greatest(times),
      longestGapMs: greatest(gaps),
      refusals: [
        ...new Set(
          this.#refusals.flatMap(({ atMs, why }) => (atMs >= sinceMs && atMs <= untilMs ? [why] : [])),
        ),
      ],
    };
  }

  /** Resolves when a write that began after this moment has been acknowledged. */
  async acknowledgedSince(sinceMs: number): Promise<void> {
    while (this.#lastStartMs < sinceMs) await sleep(20);
  }

  /** Acknowledged writes up to now whose revision is above this one, and when the first of them was acknowledged. */
  above(revision: bigint): { readonly count: number; readonly firstMs: number | undefined } {
    const found = this.#history.filter(
      (each) => each.type === "write" && each.endMs !== undefined && (each.revision ?? 0n) > revision,
    );
    const first = found.reduce<number | undefined>(
      (earliest, { endMs }) => (earliest === undefined || (endMs ?? earliest) < earliest ? endMs : earliest),
      undefined,
    );
    return { count: found.length, firstMs: first };
  }

  /** From now on the cluster is one that goes on from this revision: what was acknowledged above it may be gone. */
  resumesFrom(revision: bigint): void {
    this.#loss = { atMs: this.now, revision };
  }

  /** Ends the load and judges all that was seen. */
  async finish(): Promise<Verdict> {
    this.#stopped = true;
    await Promise.all(this.#running);
    const final = new Map<string, number>();
    for (const key of new Set(this.#history.map((operation) => operation.key))) {
      final.set(key, (await this.#persistently((to) => read(this.#doors, to, key), 0, 30_000)).value);
    }
    this.#doors.close();
    return check(this.#history, final, this.#loss);
  }

  async #write(key: string, offset: number, pauseMs: number): Promise<void> {
    let due = this.now + (offset / load.writers) * pauseMs;
    for (let value = 1; !this.#stopped; value++) {
      await sleep(Math.max(0, due - this.now));
      due = Math.max(due + pauseMs, this.now);
      const startMs = this.now;
      try {
        const { revision } = await this.#persistently(
          (to) => raise(this.#doors, to, key, value),
          offset,
          giveUpMs,
        );
        this.#history.push({ key, type: "write", value, startMs, endMs: this.now, revision });
        this.#lastStartMs = Math.max(this.#lastStartMs, startMs);
      } catch (error) {
        this.#history.push({ key, type: "write", value, startMs, endMs: undefined, revision: undefined });
        this.#refusals.push({ atMs: this.now, why: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  async #read(offset: number, keys: number): Promise<void> {
    for (let round = offset; !this.#stopped; round++) {
      await sleep(this.#readsEveryMs);
      const key = this.key(round % keys);
      const startMs = this.now;
      try {
        const { value, revision } = await this.#persistently(
          (to) => read(this.#doors, to, key),
          offset,
          giveUpMs,
        );
        this.#history.push({ key, type: "read", value, startMs, endMs: this.now, revision });
      } catch {
        // A read without an answer says nothing.
      }
    }
  }

  /** Stays with one member while it answers, and goes to the next when it does not. */
  readonly #favourite = new Map<number, number>();
  async #persistently(
    attempt: (to: Endpoint) => Promise<Answer>,
    who: number,
    forMs: number,
  ): Promise<Answer> {
    const until = this.now + forMs;
    for (;;) {
      const endpoints = this.#options.endpoints();
      const favourite = this.#favourite.get(who) ?? who;
      const to = endpoints[favourite % Math.max(1, endpoints.length)];
      try {
        if (to === undefined) throw new Error("no member serves");
        return await attempt(to);
      } catch (error) {
        this.#favourite.set(who, favourite + 1);
        if (this.now >= until) throw error;
        await sleep(20);
      }
    }
  }
}

function greatest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
