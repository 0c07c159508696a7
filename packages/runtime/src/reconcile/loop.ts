/** The engine under every controller: changes become keys, keys become runs, failed runs come again. */
import { isConflict } from "@keelson/client";
import type { Cancel, Clock, Random, Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Change, Informer } from "../cache/informer.ts";
import type { Cause } from "../controller/context.ts";
import type { Outcome } from "../controller/outcome.ts";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { type Priority, type QueueObserver, type WorkItem, WorkQueue } from "../queue/work-queue.ts";
import { type ReconcileReport, report } from "./report.ts";

/** A wish that a key be looked at. */
export interface Trigger {
  readonly key: string;
  readonly cause: Cause;
  /** See `AddOptions.patient`. */
  readonly patient?: boolean;
  /** See `AddOptions.seen`. */
  readonly seen?: (() => boolean) | undefined;
  readonly priority?: Priority;
}

export interface LoopWatch {
  readonly informer: Informer;
  /** Which keys a change concerns. */
  map(change: Change): Iterable<Trigger>;
}

/** How a run ended, when it did not throw. */
export interface Verdict {
  /** Look again after this long, though nothing changed. */
  readonly recheckMs?: number;
  /** The run failed and said so itself: come again after the key's backoff. */
  readonly failed?: { readonly error: unknown };
  /** There is no object of this key any more. */
  readonly gone?: boolean;
  /** What the author's function said. */
  readonly outcome?: Outcome;
  /** For metrics: `terminal` is an error that is not tried again. */
  readonly result?: "success" | "terminal" | "requeue_after";
}

export interface LoopDefinition {
  readonly name: string;
  readonly watches: readonly LoopWatch[];
  readonly concurrency: number;
  /** Default: that of the queue. */
  readonly backoff?: { readonly firstMs?: number; readonly longestMs?: number };
  /** Looks at everything this often; never when absent. */
  readonly resyncMs?: number;
  /** Slows a key down that comes again and again, as one does whose every run changes what it watches. */
  readonly calms?: boolean;
  /** Tells of watches that are added while it runs. */
  onWatch?(follow: (watch: LoopWatch) => void): void;
  /** Begins to look at what is outside the cluster, and returns how to stop that. */
  begin?(enqueue: (key: string, cause: Cause) => void): () => void;
  /** Takes away what it added to caches that others share. Called when it has ended and others go on. */
  release?(): void;
  /** Whether there is an object of this key. */
  has?(key: string): boolean;
  /** Every key there is. */
  keys(): Iterable<string>;
  process(item: WorkItem<Cause>, signal: AbortSignal): Promise<Verdict>;
}

export interface LoopObserver extends QueueObserver {
  started?(): void;
  ended?(result: "success" | "error" | "terminal" | "requeue_after", seconds: number, error?: unknown): void;
}

export interface LoopServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly observer?: LoopObserver;
}

/**
 * A key may run this often at once, and then once per `calmMs`. A failover takes some thirty runs: several within a minute
 * must not wait for each other, and a controller that calls itself without end must not cost much.
 */
const rushRuns = 100;
const calmMs = 250;

export class Loop {
  readonly queue: WorkQueue<Cause>;
  readonly #definition: LoopDefinition;
  readonly #services: LoopServices;
  readonly #stop = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  #workers: Promise<void>[] = [];
  /** Runs that each key may still make at once. */
  readonly #credit = new Map<string, { runs: number; atMs: number }>();
  /** Keys whose last run asked to come back, and not at once. */
  readonly #polling = new Set<string>();
  #resync: Cancel | undefined;

  constructor(definition: LoopDefinition, services: LoopServices) {
    this.#definition = definition;
    this.#services = services;
    const { firstMs, longestMs } = definition.backoff ?? {};
    this.queue = new WorkQueue<Cause>({
      clock: services.clock,
      random: services.random,
      isSame: (a, b) => a.type === b.type && a.kind === b.kind && a.key === b.key,
      ...(services.observer ? { observer: services.observer } : {}),
      ...(firstMs === undefined ? {} : { firstRetryMs: firstMs }),
      ...(longestMs === undefined ? {} : { longestRetryMs: longestMs }),
    });
  }

  get name(): string {
    return this.#definition.name;
  }

  get watches(): readonly LoopWatch[] {
    return this.#definition.watches;
  }

  get synced(): boolean {
    return this.#definition.watches.every(({ informer }) => informer.synced);
  }

  /** Begins to gather keys. A standby does this too: its caches and its queue are warm when it takes over. */
  listen(): void {
    for (const watch of this.#definition.watches) this.#follow(watch);
    this.#definition.onWatch?.((watch) => this.#follow(watch));
  }

  #follow(watch: LoopWatch): void {
    this.#unsubscribe.push(
      watch.informer.onChange((change: Change<Stored>) => {
        for (const trigger of watch.map(change)) {
          this.queue.add(trigger.key, {
            cause: trigger.cause,
            priority: trigger.priority ?? (change.initial ? "background" : "live"),
            patient: trigger.patient ?? false,
            seen: trigger.seen,
          });
        }
      }),
    );
  }

  /** Begins to work, once every cache it looks at is complete: absence means nothing before that. */
  async run(): Promise<void> {
    await Promise.all(this.#definition.watches.map(({ informer }) => informer.whenSynced()));
    if (this.#stop.signal.aborted) return;
    this.#armResync();
    const end = this.#definition.begin?.((key, cause) => this.wake(key, cause));
    if (end) this.#stop.signal.addEventListener("abort", end, { once: true });
    if (end) this.#unsubscribe.push(end);
    this.#workers = Array.from({ length: this.#definition.concurrency }, () => this.#work());
  }

  /** Whether there is an object of this key. */
  has(key: string): boolean {
    return this.#definition.has?.(key) ?? false;
  }

  /** Looks at a key because of something outside the cluster. */
  wake(key: string, cause: Cause): void {
    this.queue.add(key, { cause });
  }

  /** Looks at everything again, behind what is live. */
  resync(): void {
    for (const key of this.#definition.keys()) {
      this.queue.add(key, { cause: { type: "resync" }, priority: "background" });
    }
  }

  /** Takes no new work and resolves when what is under way has ended; `abort` ends it. */
  async drain(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#resync?.();
    this.queue.close();
    await Promise.all(this.#workers);
  }

  /** Leaves shared caches as if it had never been; after `drain`. */
  release(): void {
    this.#definition.release?.();
  }

  /** Aborts every run under way. */
  abort(reason: Error = new RuntimeError("Stopped", "the operator is stopping")): void {
    this.#stop.abort(reason);
    this.queue.close();
  }

  #armResync(): void {
    const { resyncMs } = this.#definition;
    if (resyncMs === undefined || this.#stop.signal.aborted) return;
    this.#resync = this.#services.clock.timer(resyncMs, () => {
      this.resync();
      this.#armResync();
    });
  }

  async #work(): Promise<void> {
    for (;;) {
      const item = await this.queue.take();
      if (!item) return;
      try {
        if (this.#definition.calms) this.#calm(item);
        await this.#process(item);
      } finally {
        this.queue.finish(item.key);
      }
    }
  }

  /**
   * Without this a controller that changes what it watches in every run would run as fast as the server answers. A run that
   * has waited for its time was not called by a write: one that polls each second would use up all that it earns.
   */
  #calm({ key, causes }: WorkItem<Cause>): void {
    const isPoll = this.#polling.has(key) && causes.every(({ type }) => type === "timer");
    const now = this.#services.clock.monotonic();
    const before = this.#credit.get(key);
    const earned = before ? (now - before.atMs) / calmMs : 0;
    const runs = Math.min(rushRuns, (before?.runs ?? rushRuns) + earned) - (isPoll ? 0 : 1);
    this.#credit.set(key, { runs, atMs: now });
    if (runs >= 1) return;
    if (before && before.runs >= 1) {
      this.#services.log.warn(
        `ran ${rushRuns} times in a row and is slowed down: what it writes seems to call it again`,
        { key },
      );
    }
    this.queue.hold(key, (1 - runs) * calmMs);
  }

  async #process(item: WorkItem<Cause>): Promise<void> {
    const { clock, observer } = this.#services;
    const startedAt = clock.monotonic();
    observer?.started?.();
    let result: "success" | "error" | "terminal" | "requeue_after" = "error";
    let failure: unknown;
    let verdict: Verdict | undefined;
    let retryMs: number | undefined;
    try {
      verdict = await this.#definition.process(item, this.#stop.signal);
      if (verdict.failed) {
        failure = verdict.failed.error;
        retryMs = this.#retry(item, verdict.failed.error);
        return;
      }
      this.queue.forget(item.key);
      if (verdict.gone) this.#credit.delete(item.key);
      if ((verdict.recheckMs ?? 0) > 0) this.#polling.add(item.key);
      else this.#polling.delete(item.key);
      if (verdict.recheckMs !== undefined) {
        this.queue.schedule(item.key, verdict.recheckMs, { type: "timer" });
      }
      result = verdict.result ?? (verdict.recheckMs === undefined ? "success" : "requeue_after");
    } catch (error) {
      failure = error;
      retryMs = this.#retry(item, error);
    } finally {
      const durationMs = clock.monotonic() - startedAt;
      observer?.ended?.(result, durationMs / 1000, failure);
      report(() => ({
        controller: this.name,
        key: item.key,
        causes: item.causes,
        durationMs,
        ...ending(verdict, failure, retryMs ?? verdict?.recheckMs),
      }));
    }
  }

  /** How long until it is tried again; undefined when it is not. */
  #retry(item: WorkItem<Cause>, error: unknown): number | undefined {
    if (this.#stop.signal.aborted) return undefined;
    const delay = this.queue.retry(item.key, { type: "retry" }, retryAfterOf(error));
    // Losing a race to another writer is part of the game; losing it twice in a row is worth a line.
    const level = isConflict(error) && item.failures === 0 ? "debug" : "warn";
    this.#services.log[level]("the reconcile failed and will be tried again", {
      key: item.key,
      failures: item.failures + 1,
      retryInMs: Math.round(delay),
      error,
    });
    return delay;
  }
}

function ending(
  verdict: Verdict | undefined,
  failure: unknown,
  nextMs: number | undefined,
): Pick<ReconcileReport, "outcome" | "reason" | "message" | "nextMs"> {
  const next = nextMs === undefined ? {} : { nextMs };
  if (failure !== undefined) return { outcome: "error", message: errorText(failure), ...next };
  if (verdict?.gone) return { outcome: "gone" };
  const said = verdict?.outcome;
  if (said === undefined || said.outcome === "done") return { outcome: "done", ...next };
  return { outcome: said.outcome, reason: said.reason, message: said.message, ...next };
}

/** How long the server asked us to wait, whatever error class carries it. */
function retryAfterOf(error: unknown): number {
  const wish = (error as { retryAfterMs?: unknown } | undefined)?.retryAfterMs;
  return typeof wish === "number" ? wish : 0;
}
