/** Leader election in a thread of its own: an event loop that a reconcile keeps busy cannot cost us the lease. */

import { Worker } from "node:worker_threads";
import type { ConnectOptions } from "@keelson/client";
import type { Clock } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { SharedFence } from "./fence.ts";
import type { LeaseProblem, LeaseTimings } from "./lease.ts";

/** What the thread is started with. All of it can be copied to another thread. */
export interface LeaseThreadData {
  readonly connect: Pick<ConnectOptions, "kubeconfig" | "context" | "impersonate">;
  readonly name: string;
  readonly namespace: string;
  readonly identity: string;
  readonly timings: LeaseTimings;
  readonly fence: SharedArrayBuffer;
  /** Written by the working thread, so that the lease is not kept for one that hangs for good. */
  readonly heartbeat: SharedArrayBuffer;
  readonly hangMs: number;
}

export type LeaseThreadMessage =
  | { readonly type: "acquired" }
  | { readonly type: "holder"; readonly holder: string | undefined }
  | { readonly type: "problem"; readonly problem: LeaseProblem | undefined }
  | { readonly type: "lost"; readonly message: string }
  | {
      readonly type: "log";
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly error?: string;
    }
  | { readonly type: "stopped" };

/** Monotonic time that all threads of a process share, unlike `performance.now()`. */
export const threadClock: Pick<Clock, "now" | "monotonic"> = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
};

const beatEveryMs = 1_000;

/** It holds one object and sends a request every few seconds: the usual young generation would be most of its memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 };

export class LeaseThread {
  readonly fence: SharedFence;
  readonly #worker: Worker;
  readonly #acquired = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<RuntimeError>();
  readonly #stopped = Promise.withResolvers<void>();
  readonly #beat: NodeJS.Timeout;
  #leading = false;
  #holder: string | undefined;
  #problem: LeaseProblem | undefined;

  constructor(data: Omit<LeaseThreadData, "fence" | "heartbeat">, log: Logger) {
    this.fence = new SharedFence(threadClock);
    const heartbeat = new Float64Array(new SharedArrayBuffer(8));
    const beat = () => {
      heartbeat[0] = threadClock.monotonic();
    };
    beat();
    this.#beat = setInterval(beat, beatEveryMs).unref();
    const file = import.meta.url.endsWith(".ts") ? "./lease-worker.ts" : "./lease-worker.js";
    const workerData: LeaseThreadData = {
      ...data,
      fence: this.fence.buffer,
      heartbeat: heartbeat.buffer as SharedArrayBuffer,
    };
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData, resourceLimits });
    this.#worker.on("message", (message: LeaseThreadMessage) => this.#hear(message, log));
    this.#worker.on("error", (error) => this.#lose(`its thread failed: ${error.message}`));
    this.#worker.on("exit", () => {
      this.#stopped.resolve();
      this.#lose("its thread ended");
    });
    this.#worker.unref();
  }

  get acquired(): Promise<void> {
    return this.#acquired.promise;
  }

  get lost(): Promise<RuntimeError> {
    return this.#lost.promise;
  }

  get leading(): boolean {
    return this.#leading && this.fence.mayWrite();
  }

  get holder(): string | undefined {
    return this.#holder;
  }

  get problem(): LeaseProblem | undefined {
    return this.#problem;
  }

  run(): void {}

  async stop(options: { readonly keep?: boolean } = {}): Promise<void> {
    clearInterval(this.#beat);
    this.fence.close();
    this.#leading = false;
    this.#worker.postMessage(options);
    await this.#stopped.promise;
    await this.#worker.terminate();
  }

  #hear(message: LeaseThreadMessage, log: Logger): void {
    switch (message.type) {
      case "acquired":
        this.#leading = true;
        this.#acquired.resolve();
        return;
      case "holder":
        this.#holder = message.holder;
        return;
      case "problem":
        this.#problem = message.problem;
        return;
      case "lost":
        this.#lose(message.message);
        return;
      case "log":
        log[message.level](message.message, message.error === undefined ? {} : { error: message.error });
        return;
      case "stopped":
        this.#stopped.resolve();
    }
  }

  #lose(message: string): void {
    this.#leading = false;
    this.fence.close();
    this.#lost.resolve(new RuntimeError("LeaseLost", message));
  }
}
