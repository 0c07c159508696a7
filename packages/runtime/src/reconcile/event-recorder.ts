/** Kubernetes events: told to people who run `kubectl describe`, aggregated so that a loop cannot flood them. */

import { hash } from "node:crypto";
import type { Client } from "@keelson/client";
import { type Clock, dynamicKind, formatMicroTime, type JsonObject } from "@keelson/core";
import type { Logger } from "../log/logger.ts";

export const Event = dynamicKind({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  resource: "events",
  scope: "Namespaced",
});

/** What an event speaks of. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion?: string;
  };
}

export interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Who reports: the pod's name. */
  readonly instance: string;
}

/** Told again within this time, an event counts up instead of being made again. */
const seriesMs = 10 * 60_000;
/** A count is written at most this often. */
const seriesUpdateMs = 60_000;
/**
 * Events about one object for one reason: this many at once, then one every five minutes. By reason, so that what
 * happens often does not use up the room of what matters.
 */
const burst = 25;
const refillMs = 5 * 60_000;
const noteLimit = 1024;

interface Series {
  readonly name: string;
  readonly namespace: string;
  count: number;
  lastMs: number;
  writtenMs: number;
}

interface NewEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly name: string;
  readonly namespace: string;
  readonly now: number;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  readonly #pending = new Set<Promise<void>>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Never fails and never waits: an event that cannot be written is logged. */
  record(
    controller: string,
    subject: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    const now = this.#options.clock.now();
    const note = message.length > noteLimit ? `${message.slice(0, noteLimit - 1)}…` : message;
    const id = [controller, subject.metadata.uid, type, reason, note].join("\u0000");
    const series = this.#series.get(id);
    if (series && now - series.lastMs < seriesMs) {
      series.count++;
      series.lastMs = now;
      if (now - series.writtenMs >= seriesUpdateMs) this.#send(id, this.#count(series, now));
      return;
    }
    if (!this.#allowed(`${subject.metadata.uid}/${reason}`, now)) return;
    this.#forgetOld(now);
    const namespace = subject.metadata.namespace ?? "default";
    const suffix = hash("sha256", `${id}\u0000${now}\u0000${this.#options.instance}`).slice(0, 16);
    const name = `${subject.metadata.name.slice(0, 236)}.${suffix}`;
    this.#series.set(id, { name, namespace, count: 1, lastMs: now, writtenMs: now });
    this.#send(id, this.#create(controller, subject, { type, reason, note, name, namespace, now }));
  }

  /** Resolves when everything recorded so far has been sent or given up. */
  async flush(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** An event that is not there (it was refused, deleted or has expired) is made again the next time it is told. */
  #send(id: string, work: Promise<void>): void {
    const sending = work
      .catch((error: unknown) => {
        this.#series.delete(id);
        this.#options.log.warn("an event could not be recorded", { error });
      })
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
  }

  async #create(controller: string, subject: EventSubject, event: NewEvent): Promise<void> {
    const { name, namespace, uid, resourceVersion } = subject.metadata;
    const { apiVersion, kind } = subject;
    try {
      await this.#post(controller, event, { apiVersion, kind, name, namespace, uid, resourceVersion });
    } catch (error) {
      if (event.type !== "Warning" || namespace === undefined || !isEnding(error)) throw error;
      // Nothing can be made where a namespace ends: what went wrong there is told of the namespace itself.
      const note = `${kind} ${name}: ${event.note}`.slice(0, noteLimit);
      const regarding = { apiVersion: "v1", kind: "Namespace", name: namespace, uid: namespace };
      await this.#post(controller, { ...event, note, namespace: "default" }, regarding);
    }
  }

  async #post(controller: string, event: NewEvent, regarding: object): Promise<void> {
    await this.#options.client.kind(Event).create({
      metadata: { name: event.name, namespace: event.namespace },
      eventTime: formatMicroTime(event.now),
      reportingController: controller,
      reportingInstance: this.#options.instance.slice(0, 128),
      action: "Reconcile",
      type: event.type,
      reason: event.reason.slice(0, 128),
      note: event.note,
      regarding,
    } as JsonObject as never);
  }

  async #count(series: Series, now: number): Promise<void> {
    series.writtenMs = now;
    const body = { series: { count: series.count, lastObservedTime: formatMicroTime(now) } };
    const ref = { namespace: series.namespace, name: series.name };
    await this.#options.client.kind(Event).patch(ref, { type: "merge", body });
  }

  #allowed(what: string, now: number): boolean {
    const bucket = this.#buckets.get(what) ?? { tokens: burst, atMs: now };
    const refilled = Math.floor((now - bucket.atMs) / refillMs);
    const tokens = Math.min(burst, bucket.tokens + refilled);
    const atMs = bucket.atMs + refilled * refillMs;
    this.#buckets.set(what, { tokens: Math.max(0, tokens - 1), atMs });
    return tokens > 0;
  }

  #forgetOld(now: number): void {
    if (this.#series.size < 4_096) return;
    for (const [id, series] of this.#series) if (now - series.lastMs >= seriesMs) this.#series.delete(id);
    for (const [what, bucket] of this.#buckets) {
      if (now - bucket.atMs >= burst * refillMs) this.#buckets.delete(what);
    }
  }
}

function isEnding(error: unknown): boolean {
  const { code, message = "" } = error as { code?: unknown; message?: string };
  return code === 403 && message.includes("is being terminated");
}
