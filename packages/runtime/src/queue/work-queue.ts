/**
 * The queue between what happens and what is done about it: keys in, one worker per key out.
 *
 * - Stingy: a key that is added often before it is taken is processed once, with all causes.
 * - Exclusive: a key that is being processed is never handed out; added meanwhile, it comes again afterwards.
 * - Fair: in order of arrival; what is urgent overtakes what is not by at most `agingMs`.
 * - Patient: a key that failed waits longer each time, without holding up others.
 */
import type { Cancel, Clock, Random } from "@keelson/core";
import { Fifo } from "./fifo.ts";
import { Heap } from "./heap.ts";

/** `live` for what just changed, `background` for the initial list and resyncs. */
export type Priority = "live" | "background";

/** When and with which priority a key is added to the queue. */
export interface AddOptions<C> {
  readonly cause?: C;
  /** Default: `live`. */
  readonly priority?: Priority;
  /**
   * Does not cut a backoff short: a key that waits for its retry keeps waiting. For changes that our own
   * failed attempt may have made (its status): without this, each retry would call the next one at once.
   */
  readonly patient?: boolean;
  /**
   * Whether a run of the key has seen to this: then it is background work. Asked when the run ends that is under way, which may
   * have written what we hear of; where none is, at once.
   */
  readonly seen?: (() => boolean) | undefined;
}

/** A key that a worker has taken from the queue. */
export interface WorkItem<C> {
  readonly key: string;
  /** All that led here since the key was last taken, merged. */
  readonly causes: readonly C[];
  /** Failures in a row before this run. */
  readonly failures: number;
}

/** What metrics want to hear. */
export interface QueueObserver {
  added?(): void;
  retried?(): void;
  /** How long the key waited, in seconds. */
  taken?(waitedSeconds: number): void;
  finished?(tookSeconds: number): void;
}

/** Backoff, priorities and clock of a queue. */
export interface WorkQueueOptions<C> {
  readonly clock: Clock;
  readonly random: Random;
  /** First retry after this long, doubled each time. Default: 5 ms. */
  readonly firstRetryMs?: number;
  /** No retry waits longer. Default: 1000 s. */
  readonly longestRetryMs?: number;
  /** After waiting this long, background work is served before newer live work. Default: 5 s. */
  readonly agingMs?: number;
  /** Two causes that are the same are one; the later wins. Default: those that are equal as JSON. */
  readonly isSame?: (a: C, b: C) => boolean;
  readonly observer?: QueueObserver;
}

interface Pending<C> {
  readonly key: string;
  readonly causes: C[];
  priority: Priority;
  /** Only patient additions so far. */
  patient: boolean;
  /** Asked when the run of the key ends. */
  asks: (() => boolean)[] | undefined;
  readonly addedAt: number;
}

interface Delayed<C> {
  readonly key: string;
  readonly dueAt: number;
  readonly sequence: number;
  readonly retry: boolean;
  readonly causes: C[];
}

const causesKept = 64;
const asksKept = 64;

/** A queue of keys: each is there once and worked on by one worker at a time, with backoff and priority. */
export class WorkQueue<C = unknown> {
  readonly #options: WorkQueueOptions<C>;
  readonly #clock: Clock;
  readonly #random: Random;

  /** Keys that need processing. A key is in `#queued` or in `#processing`, or in both only as re-added work. */
  readonly #queued = new Map<string, Pending<C>>();
  /** Keys in a worker's hands. Those also in `#queued` are in no order list until they are finished. */
  readonly #processing = new Map<string, number>();
  /** Order of arrival by priority. Entries that are no longer in `#queued` are stale and skipped. */
  readonly #order: Record<Priority, Fifo<Pending<C>>> = { live: new Fifo(), background: new Fifo() };
  /** At most one appointment per key; heap entries that differ from it are stale and skipped. */
  readonly #delayed = new Map<string, Delayed<C>>();
  readonly #appointments = new Heap<Delayed<C>>(
    (a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.sequence < b.sequence),
  );
  readonly #failures = new Map<string, number>();
  /** Keys that came too often, until when. */
  readonly #held = new Map<string, number>();
  readonly #takers = new Fifo<(item: WorkItem<C> | undefined) => void>();
  #drained: (() => void)[] = [];
  #timer: { cancel: Cancel; dueAt: number } | undefined;
  #sequence = 0;
  #closed = false;

  constructor(options: WorkQueueOptions<C>) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Keys that wait to be taken, without those that wait for their time. */
  get depth(): number {
    let held = 0;
    for (const key of this.#processing.keys()) if (this.#queued.has(key)) held++;
    return this.#queued.size - held;
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** Nothing waits and nothing is processed. Appointments in the future do not count. */
  get idle(): boolean {
    return this.#queued.size === 0 && this.#processing.size === 0;
  }

  /** Seconds that each key in a worker's hands has been there. */
  unfinishedSeconds(): number[] {
    const now = this.#clock.monotonic();
    return [...this.#processing.values()].map((since) => (now - since) / 1000);
  }

  add(key: string, options: AddOptions<C> = {}): void {
    if (this.#closed) return;
    const { cause, patient = false } = options;
    const appointment = this.#delayed.get(key);
    if (patient && appointment?.retry && !this.#queued.has(key)) {
      this.#merge(appointment.causes, cause);
      return;
    }
    this.#admit(key, cause === undefined ? [] : [cause], options);
  }

  /** Adds the key after a while. Replaces the appointment that the key may have. */
  schedule(key: string, afterMs: number, cause?: C): void {
    this.#appoint(key, afterMs, false, cause);
  }

  /** Takes the appointment of a key back. */
  unschedule(key: string): void {
    this.#delayed.delete(key);
  }

  /**
   * Adds the key after its backoff, which grows with each call until `forget`; `atLeastMs` when someone
   * else said how long to wait. Returns the delay.
   */
  retry(key: string, cause?: C, atLeastMs = 0): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { firstRetryMs = 5, longestRetryMs = 1_000_000 } = this.#options;
    const ceiling = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures, 40));
    // Jitter spreads keys that failed together, as after an outage.
    const delay = Math.max(atLeastMs, ceiling * (0.75 + this.#random.next() / 4));
    this.#options.observer?.retried?.();
    this.#appoint(key, delay, true, cause);
    return delay;
  }

  /** Nothing brings the key back before this long has passed: changes meanwhile are gathered for then. */
  hold(key: string, forMs: number): void {
    this.#held.set(key, this.#clock.monotonic() + forMs);
  }

  /** The key is well again: its next failure waits shortly. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, when there is one; undefined once the queue is closed. Hand it back with `finish`. */
  take(): Promise<WorkItem<C> | undefined> {
    const item = this.#next();
    if (item) return Promise.resolve(item);
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The key is no longer processed; what was added meanwhile is queued now. */
  finish(key: string): void {
    const since = this.#processing.get(key);
    if (since === undefined) return;
    this.#processing.delete(key);
    this.#options.observer?.finished?.((this.#clock.monotonic() - since) / 1000);
    const again = this.#queued.get(key);
    if (again) {
      this.#queued.delete(key);
      if (again.asks?.some((seen) => !seen())) again.priority = "live";
      again.asks = undefined;
      const appointment = this.#delayed.get(key);
      if (again.patient && appointment?.retry) {
        for (const cause of again.causes) this.#merge(appointment.causes, cause);
      } else if (this.#isHeld(key)) {
        this.#postpone(key, again.causes);
      } else if (!this.#closed) {
        this.#enqueue(again);
      }
    }
    if (this.#processing.size === 0) {
      for (const resolve of this.#drained.splice(0)) resolve();
    }
  }

  /** Takes no more work and lets waiting workers go. What is being processed goes on. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#queued.clear();
    this.#delayed.clear();
    for (let resolve = this.#takers.shift(); resolve; resolve = this.#takers.shift()) resolve(undefined);
  }

  /** Resolves when nothing is being processed any more. */
  drained(): Promise<void> {
    if (this.#processing.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #merge(causes: C[], cause: C | undefined): void {
    if (cause === undefined) return;
    const { isSame = isEqual } = this.#options;
    const at = causes.findIndex((each) => isSame(each, cause));
    if (at >= 0) causes[at] = cause;
    else if (causes.length < causesKept) causes.push(cause);
  }

  /** Takes a key in with all its causes at once: each on its own could start a run before the next is known. */
  #admit(
    key: string,
    causes: C[],
    {
      priority: wished = "live",
      patient = false,
      seen,
    }: Pick<AddOptions<C>, "priority" | "patient" | "seen">,
  ): void {
    const waiting = this.#queued.get(key);
    const asks =
      seen && this.#processing.has(key) && (waiting?.asks?.length ?? 0) < asksKept ? [seen] : undefined;
    const priority = asks || seen?.() ? "background" : wished;
    if (!waiting && this.#isHeld(key)) {
      this.#postpone(key, causes);
      return;
    }
    if (!waiting) {
      this.#options.observer?.added?.();
      this.#enqueue({ key, causes, priority, patient, asks, addedAt: this.#clock.monotonic() });
      return;
    }
    for (const cause of causes) this.#merge(waiting.causes, cause);
    waiting.patient &&= patient;
    if (asks) waiting.asks = waiting.asks ? [...waiting.asks, ...asks] : asks;
    if (priority === "live" && waiting.priority === "background") {
      waiting.priority = "live";
      if (!this.#processing.has(key)) this.#order.live.push(waiting);
    }
  }

  #isHeld(key: string): boolean {
    const until = this.#held.get(key);
    if (until === undefined) return false;
    if (until > this.#clock.monotonic()) return true;
    this.#held.delete(key);
    return false;
  }

  /** Gathers causes for the end of the hold, or for an appointment that comes before it. */
  #postpone(key: string, causes: C[]): void {
    if (this.#processing.has(key)) {
      const addedAt = this.#clock.monotonic();
      this.#enqueue({ key, causes, priority: "live", patient: false, asks: undefined, addedAt });
      return;
    }
    const until = this.#held.get(key) ?? 0;
    const appointment = this.#delayed.get(key);
    if (appointment && appointment.dueAt <= until) {
      for (const cause of causes) this.#merge(appointment.causes, cause);
      return;
    }
    for (const cause of appointment?.causes ?? []) this.#merge(causes, cause);
    this.#appointAt(key, until, false, causes);
  }

  #enqueue(pending: Pending<C>): void {
    this.#queued.set(pending.key, pending);
    if (this.#processing.has(pending.key)) return;
    this.#order[pending.priority].push(pending);
    this.#serve();
  }

  #serve(): void {
    while (this.#takers.size > 0) {
      const item = this.#next();
      if (!item) return;
      this.#takers.shift()?.(item);
    }
  }

  #next(): WorkItem<C> | undefined {
    const live = this.#head("live");
    const background = this.#head("background");
    const aging = this.#options.agingMs ?? 5_000;
    // Background work stands in line as if it had come `agingMs` later: overtaken, never starved.
    const fromBackground = background && (!live || background.addedAt + aging <= live.addedAt);
    const pending = fromBackground ? background : live;
    if (!pending) return undefined;
    this.#order[fromBackground ? "background" : "live"].shift();
    this.#queued.delete(pending.key);
    // A run that starts now makes an earlier appointment pointless: the run says when to come again.
    const appointment = this.#delayed.get(pending.key);
    if (appointment) {
      for (const cause of appointment.causes) this.#merge(pending.causes, cause);
      this.#delayed.delete(pending.key);
    }
    const now = this.#clock.monotonic();
    this.#processing.set(pending.key, now);
    this.#options.observer?.taken?.((now - pending.addedAt) / 1000);
    return { key: pending.key, causes: pending.causes, failures: this.failures(pending.key) };
  }

  #head(priority: Priority): Pending<C> | undefined {
    const order = this.#order[priority];
    for (let head = order.peek(); head; head = order.peek()) {
      if (this.#queued.get(head.key) === head && head.priority === priority) return head;
      order.shift();
    }
    return undefined;
  }

  #appoint(key: string, afterMs: number, retry: boolean, cause: C | undefined): void {
    if (this.#closed) return;
    const causes = cause === undefined ? [] : [cause];
    this.#appointAt(key, this.#clock.monotonic() + Math.max(0, afterMs), retry, causes);
  }

  #appointAt(key: string, dueAt: number, retry: boolean, causes: C[]): void {
    const appointment = { key, dueAt, sequence: this.#sequence++, retry, causes };
    this.#delayed.set(key, appointment);
    this.#appointments.push(appointment);
    this.#arm();
  }

  /** Keeps one timer, for the earliest appointment that still holds. */
  #arm(): void {
    let first = this.#appointments.peek();
    while (first && this.#delayed.get(first.key) !== first) {
      this.#appointments.pop();
      first = this.#appointments.peek();
    }
    if (!first) {
      this.#timer?.cancel();
      this.#timer = undefined;
      return;
    }
    if (this.#timer && this.#timer.dueAt <= first.dueAt) return;
    this.#timer?.cancel();
    const cancel = this.#clock.timer(Math.max(0, first.dueAt - this.#clock.monotonic()), () => this.#ring());
    this.#timer = { cancel, dueAt: first.dueAt };
  }

  #ring(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (
      let first = this.#appointments.peek();
      first && first.dueAt <= now;
      first = this.#appointments.peek()
    ) {
      this.#appointments.pop();
      if (this.#delayed.get(first.key) !== first) continue;
      this.#delayed.delete(first.key);
      this.#admit(first.key, first.causes, { priority: "live", patient: false });
    }
    this.#arm();
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
