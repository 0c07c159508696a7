/** Events about pods and the node: repeated ones are counted, not written again. */
import { type Clock, formatTime, type Random, type Stored } from "@keelson/core";
import type { NodeApi } from "../api/api.ts";
import type { CoreEvent } from "../api/kinds.ts";

export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

export interface EventRecorder {
  event(subject: EventSubject, type: "Normal" | "Warning", reason: string, message: string): void;
}

const rememberedEvents = 1000;

export class ApiEventRecorder implements EventRecorder {
  readonly #api: NodeApi;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #host: string;
  readonly #written = new Map<string, { event: Stored<CoreEvent>; count: number }>();
  #queue: Promise<void> = Promise.resolve();

  constructor(options: { api: NodeApi; clock: Clock; random: Random; host: string }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#host = options.host;
  }

  event(subject: EventSubject, type: "Normal" | "Warning", reason: string, message: string): void {
    const at = formatTime(this.#clock.now());
    this.#queue = this.#queue
      .then(() => this.#write(subject, type, reason, message, at))
      // Events are a courtesy: one that cannot be written must not hold anything up.
      .catch(() => undefined);
  }

  /** Resolves when everything recorded so far has been sent or given up. */
  flush(): Promise<void> {
    return this.#queue;
  }

  async #write(
    subject: EventSubject,
    type: string,
    reason: string,
    message: string,
    at: string,
  ): Promise<void> {
    const key = [subject.uid, subject.fieldPath, type, reason, message].join("\n");
    const seen = this.#written.get(key);
    if (seen !== undefined) {
      seen.count++;
      const patched = await this.#api.patchEvent(seen.event, { count: seen.count, lastTimestamp: at });
      if (patched !== undefined) return;
    }
    const namespace = subject.namespace ?? "default";
    const suffix = Buffer.from(this.#random.bytes(8)).toString("hex");
    const event = await this.#api.createEvent({
      metadata: { name: `${subject.name}.${suffix}`, namespace },
      involvedObject: { ...subject },
      reason,
      message,
      type,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      source: { component: "kubelet", host: this.#host },
      reportingComponent: "kubelet",
      reportingInstance: this.#host,
    });
    if (this.#written.size >= rememberedEvents) this.#written.delete(this.#written.keys().next().value ?? "");
    this.#written.set(key, { event, count: 1 });
  }
}
