/** One manager process in a test: it starts, it may die at any moment, and nothing of it lives on. */
import { type Client, createClient } from "@keelson/client";
import type { HttpPort, Random, World } from "@keelson/core";
import {
  type AnyController,
  type CertificateLives,
  type Connector,
  type LeaderElectionOptions,
  type Logger,
  operator,
  type RunningOperator,
  RuntimeError,
  type Webhook,
} from "@keelson/runtime";
import { internalsOf, listeningBy, type OperatorInternals } from "@keelson/runtime/internal";
import type { ManagerPort } from "./manager-port.ts";
import type { ProcessLife } from "./process-life.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import { WebhookPort } from "./webhook-port.ts";

/** The name of the operator that managers run, and so of their Lease. */
export const leaseName = "test";

export interface ManagerOptions {
  readonly name: string;
  readonly controllers: readonly AnyController[];
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly port: ManagerPort;
  readonly life: ProcessLife;
  readonly log: Logger;
  readonly leaderElection: boolean | LeaderElectionOptions;
  readonly connect?: Connector;
  readonly webhooks: readonly Webhook[];
  readonly certificateLives?: CertificateLives;
  /** It cannot go on and ends its process, as `run()` does. */
  readonly onExit: (manager: Manager) => void;
}

/** One manager: an operator process of the test, which can be killed. */
export class Manager {
  readonly name: string;
  readonly port: ManagerPort;
  readonly client: Client;
  /** Where the API server asks its webhooks. */
  readonly webhooks: WebhookPort;
  readonly #options: ManagerOptions;
  readonly #world: World;
  readonly life: ProcessLife;
  #running: RunningOperator | undefined;
  #failure: Error | undefined;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.name = options.name;
    this.port = options.port;
    this.life = options.life;
    const clock = options.life.clock(options.clock);
    const random = options.random;
    this.webhooks = new WebhookPort(options.life);
    this.#world = {
      clock,
      random,
      process: {
        env: {},
        hostname: options.name,
        pid: 1,
        run: async () => {
          throw new Error("a manager in a test runs no commands");
        },
      },
    };
    this.client = createClient({ http: options.port as HttpPort, clock, random, fieldManager: "keelson" });
  }

  get alive(): boolean {
    return this.life.alive;
  }

  get paused(): boolean {
    return this.life.paused;
  }

  /** As if the process were stopped: it does nothing until it is continued, and does not notice. */
  pause(): void {
    this.life.pause();
  }

  resume(): void {
    this.life.resume();
  }

  /** Present once it has started. */
  get running(): RunningOperator | undefined {
    return this.#running;
  }

  /** Looks at every object of every controller again. */
  resync(): void {
    for (const loop of this.#internals?.loops ?? []) loop.resync();
  }

  /** Its caches. */
  get informers(): OperatorInternals["informers"] | undefined {
    return this.#internals?.informers;
  }

  get #internals(): OperatorInternals | undefined {
    return this.#running && internalsOf(this.#running);
  }

  /** Why it could not start or go on. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  start(): void {
    const { controllers, log, leaderElection, connect, webhooks, certificateLives } = this.#options;
    const options = {
      controllers,
      webhooks,
      ...(certificateLives && { webhookServer: { lives: certificateLives } }),
      name: leaseName,
      client: this.client,
      world: this.#world,
      log,
      leaderElection,
      endpoints: false,
      metrics: false,
      ...(connect && { connect }),
    };
    operator(listeningBy(options, this.webhooks.listen))
      .start()
      .then(
        (running) => {
          this.#running = running;
          void running.failed.then(async (error) => {
            this.#failure = error;
            await this.stop();
            this.#options.onExit(this);
          });
        },
        (error: Error) => {
          this.#failure = error;
          // What a person must fix stays; what may pass ends the process, and another is started.
          if (!(error instanceof RuntimeError)) this.#options.onExit(this);
        },
      );
  }

  /** As if the process were killed: no promise of it ever settles, no `finally` runs, no timer fires. */
  kill(): void {
    this.life.kill();
    this.port.die();
    this.webhooks.die();
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.kill();
  }

  get idle(): boolean {
    return this.#internals?.loops.every(({ queue }) => queue.idle) ?? false;
  }
}
