/**
 * An operator under way. States: working or standing by → failed (it cannot go on, and has stopped working) → stopped.
 * `stop` leads from each of them to the last.
 */
import type { Client } from "@keelson/client";
import type { Cancel, Clock } from "@keelson/core";
import type { InformerSet } from "../cache/informer-set.ts";
import type { Election } from "../leader/election.ts";
import type { Logger } from "../log/logger.ts";
import type { Stragglers } from "../reconcile/deadline.ts";
import type { EventRecorder } from "../reconcile/event-recorder.ts";
import type { Loop } from "../reconcile/loop.ts";
import type { RunningWebhooks } from "../webhook/webhooks.ts";
import type { ControllerSet } from "./controller-set.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Health } from "./health.ts";

/** An operator that was started. Hold it with `await using`, or call `stop`. */
export interface RunningOperator extends AsyncDisposable {
  /** The port of the endpoints, when there are any. */
  readonly port: number | undefined;
  /** The port of the webhooks, when there are any. */
  readonly webhookPort: number | undefined;
  /** Whether this process leads; always true without leader election. */
  readonly leading: boolean;
  /** Resolves when this process leads; at once without leader election. */
  readonly whenLeading: Promise<void>;
  /** Resolves when the operator cannot go on. It has stopped working then; `stop` still closes what is open. */
  readonly failed: Promise<Error>;
  /** Undefined when all is well, otherwise why not. */
  ready(): string | undefined;
  /** Reconciles that were told to end and go on: a process that has any must not live on. */
  readonly stragglers: number;
  /**
   * Lets reconciles under way end, within the deadline, gives the lease back and closes what was opened. The lease is
   * left to run out when a reconcile goes on although it was told to end.
   */
  stop(): Promise<void>;
}

/** What a test may look at in a running operator. */
export interface OperatorInternals {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
  readonly events: EventRecorder;
}

/** Looks inside a running operator. */
export function internalsOf(running: RunningOperator): OperatorInternals {
  if (running instanceof Running) return running;
  throw new TypeError("this operator was not started by this copy of the runtime");
}

export interface RunningParts extends OperatorInternals {
  readonly clock: Clock;
  readonly log: Logger;
  readonly controllers: ControllerSet;
  readonly health: Health;
  readonly endpoints: Endpoints | undefined;
  readonly election: Election | undefined;
  readonly stragglers: Stragglers;
  readonly webhooks: RunningWebhooks | undefined;
  /** How long webhooks answer after the end has begun. */
  readonly lingerMs: number;
  /** Closed at the end; absent when it is the caller's. */
  readonly client: Client | undefined;
  readonly shutdownMs: number;
  /** Ends what looks after memory. */
  readonly endRest?: Cancel;
}

/** Events are for people; they do not hold up the end. */
const eventFlushMs = 2_000;
/** Work that listens to its signal ends at once. */
const stragglerWaitMs = 1_000;

export class Running implements RunningOperator, OperatorInternals {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
  readonly events: EventRecorder;
  readonly whenLeading: Promise<void>;
  readonly #parts: RunningParts;
  readonly #failed = Promise.withResolvers<Error>();
  #stopping: Promise<void> | undefined;

  constructor(parts: RunningParts) {
    this.#parts = parts;
    this.loops = parts.loops;
    this.informers = parts.informers;
    this.events = parts.events;
    this.whenLeading = parts.election?.acquired ?? Promise.resolve();
  }

  /** Works as soon as this process leads. */
  work(): void {
    const giveUp = (error: Error) => this.#giveUp(error);
    void this.#parts.election?.lost.then(giveUp);
    void this.informers.lost.then(giveUp);
    // Rejects only when a cache became impossible to keep.
    void this.whenLeading.then(() => Promise.all(this.loops.map((loop) => loop.run()))).catch(giveUp);
  }

  get port(): number | undefined {
    return this.#parts.endpoints?.port;
  }

  get webhookPort(): number | undefined {
    return this.#parts.webhooks?.port;
  }

  get leading(): boolean {
    return this.#parts.election?.leading ?? true;
  }

  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  get stragglers(): number {
    return this.#parts.stragglers.size;
  }

  ready(): string | undefined {
    return this.#parts.health.ready();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #giveUp(error: Error): void {
    if (this.#stopping || this.#parts.health.lost) return;
    this.#parts.health.lose(error);
    this.#parts.controllers.close();
    for (const loop of this.loops) loop.abort(error);
    this.#failed.resolve(error);
  }

  async #stop(): Promise<void> {
    const { clock, log, health, election, endpoints, stragglers, client, shutdownMs } = this.#parts;
    const { webhooks, lingerMs } = this.#parts;
    health.stop();
    this.#parts.endRest?.();
    this.#parts.controllers.close();
    const silent = webhooks?.stop(lingerMs);
    const cancel = clock.timer(shutdownMs, () => {
      log.warn("reconciles under way did not end in time and are aborted");
      for (const loop of this.loops) loop.abort();
    });
    await Promise.all(this.loops.map((loop) => loop.drain()));
    cancel();
    await atMost(clock, this.events.flush(), eventFlushMs);
    await atMost(clock, stragglers.ended(), stragglerWaitMs);
    await election?.stop({ keep: stragglers.size > 0 });
    await this.informers.stop();
    await silent;
    await endpoints?.[Symbol.asyncDispose]();
    await client?.close();
  }
}

/** Waits for the work, but no longer than this. */
async function atMost(clock: Clock, work: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.timer(ms, late.resolve);
  await Promise.race([work, late.promise]);
  cancel();
}
