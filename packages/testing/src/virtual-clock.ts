/** Time that moves only when a test moves it: hours pass in milliseconds, in the same order every time. */
import type { Cancel, Clock } from "@keelson/core";

interface Timer {
  readonly dueAt: number;
  readonly sequence: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** When virtual time begins, and how its timers are ordered. */
export interface VirtualClockOptions {
  /** Milliseconds since the epoch at the start. Default: 2026-01-01T00:00:00Z. */
  readonly startMs?: number;
  /** Milliseconds that have passed since then already, for a world that goes on; 0 by default. */
  readonly elapsedMs?: number;
  /**
   * Tells whether work is still under way that no timer stands for (a request in flight). Time does not move
   * before it says no.
   */
  readonly busy?: () => boolean;
}

/** Timers that may fire between two looks at a condition before a run is called a livelock. */
const stepCap = 200_000;

/**
 * A clock whose timers fire in order of time, then of creation. Between two timers it lets everything run that
 * can run without time passing: promises, immediates, requests to a server in the same process.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #busy: () => boolean;
  readonly #heap: Timer[] = [];
  #sinceStartMs: number;
  #skewMs = 0;
  #sequence = 0;
  #live = 0;
  #activity = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#startMs = options.startMs ?? Date.UTC(2026, 0, 1);
    this.#sinceStartMs = options.elapsedMs ?? 0;
    this.#busy = options.busy ?? (() => false);
  }

  now(): number {
    return this.#startMs + this.#sinceStartMs + this.#skewMs;
  }

  monotonic(): number {
    return this.#sinceStartMs;
  }

  timer(delayMs: number, run: () => void): Cancel {
    this.#activity++;
    const timer: Timer = {
      dueAt: this.#sinceStartMs + Math.max(0, Number.isNaN(delayMs) ? 0 : delayMs),
      sequence: this.#sequence++,
      run,
      cancelled: false,
    };
    this.#push(timer);
    this.#live++;
    return () => {
      if (timer.cancelled) return;
      timer.cancelled = true;
      this.#live--;
    };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#live;
  }

  /** Milliseconds until the next timer; undefined when there is none. */
  get nextInMs(): number | undefined {
    const next = this.#peek();
    return next && Math.max(0, next.dueAt - this.#sinceStartMs);
  }

  /** Lets the wall clock jump, as a bad time server would; durations do not notice. */
  jump(ms: number): void {
    this.#skewMs += ms;
  }

  /** Tells that something happened which may lead to more without time passing. */
  touch(): void {
    this.#activity++;
  }

  /** Lets everything run that needs no time to pass. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < 3) {
      const before = this.#activity;
      await new Promise<void>((resolve) => setImmediate(resolve));
      quiet = this.#activity === before && !this.#busy() ? quiet + 1 : 0;
    }
  }

  /** Moves time on by this much, firing what comes due on the way. */
  async advance(ms: number): Promise<void> {
    const until = this.#sinceStartMs + ms;
    await this.settle();
    for (let steps = 0; ; steps++) {
      const next = this.#peek();
      if (!next || next.dueAt > until) break;
      if (steps >= stepCap) throw livelock(ms);
      await this.#fire(next);
    }
    this.#sinceStartMs = until;
    await this.settle();
  }

  /**
   * Moves time on until `condition` holds; true when it did within `withinMs`, at the time it did.
   * The condition is looked at whenever everything has come to rest.
   */
  async until(condition: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
    const deadline = this.#sinceStartMs + withinMs;
    for (let steps = 0; ; steps++) {
      await this.settle();
      if (await condition()) return true;
      const next = this.#peek();
      if (!next || next.dueAt > deadline) {
        this.#sinceStartMs = Math.max(this.#sinceStartMs, deadline);
        return false;
      }
      if (steps >= stepCap) throw livelock(withinMs);
      await this.#fire(next);
    }
  }

  /** Runs a piece of work to its end, moving time on as it asks for it. */
  async run<T>(work: Promise<T>, withinMs = 3_600_000): Promise<T> {
    let settled = false;
    const end = work.then(
      () => {
        settled = true;
      },
      () => {
        settled = true;
      },
    );
    if (!(await this.until(() => settled, withinMs))) {
      throw new Error(`the work did not end within ${withinMs} ms of virtual time`);
    }
    await end;
    return await work;
  }

  async #fire(timer: Timer): Promise<void> {
    this.#pop();
    this.#sinceStartMs = Math.max(this.#sinceStartMs, timer.dueAt);
    timer.cancelled = true;
    this.#live--;
    timer.run();
    await this.settle();
  }

  #peek(): Timer | undefined {
    while (this.#heap[0]?.cancelled) this.#pop();
    return this.#heap[0];
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Timer;
      if (!before(timer, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Timer, heap[child] as Timer)) child++;
      const below = heap[child] as Timer;
      if (!before(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.sequence < b.sequence);
}

function livelock(ms: number): Error {
  return new Error(
    `livelock: ${stepCap} timers fired within ${ms} ms of virtual time and nothing came to rest; ` +
      "something schedules itself again and again",
  );
}
