/** The managers of one cluster: they start, die, are replaced, and everything they send is counted. */
import type { HttpPort } from "@keelson/core";
import type {
  AnyController,
  CertificateLives,
  Connector,
  LeaderElectionOptions,
  Logger,
  Webhook,
} from "@keelson/runtime";
import type { Faults } from "./faults.ts";
import { Manager } from "./manager.ts";
import { type Crash, ManagerPort } from "./manager-port.ts";
import type { ObservedRequest } from "./observed-request.ts";
import type { RoleGate } from "./permissions.ts";
import { ProcessLife } from "./process-life.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import type { WatchStream } from "./watch-stream.ts";

export interface ManagersOptions {
  readonly controllers: readonly AnyController[];
  /** The API server, undisturbed. */
  readonly http: HttpPort;
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly faults: Faults;
  readonly role: RoleGate;
  readonly log: Logger;
  readonly leaderElection: boolean | LeaderElectionOptions;
  /** How long a manager that died takes to come back. */
  readonly restartMs: number;
  /** How the controllers of a manager reach applications; `life` is that of its process. */
  readonly connect: ((life: ProcessLife) => Connector) | undefined;
  readonly webhooks: readonly Webhook[];
  readonly certificateLives: CertificateLives | undefined;
}

export class Managers {
  /** Those that are alive, in order of their start. */
  readonly alive: Manager[] = [];
  readonly requests: ObservedRequest[] = [];
  readonly writes: ObservedRequest[] = [];
  readonly #options: ManagersOptions;
  /** Ports of managers that died are among them: what they sent may still be under way. */
  readonly #ports = new Set<ManagerPort>();
  #started = 0;
  #planned: Crash | undefined;
  #closed = false;

  constructor(options: ManagersOptions) {
    this.#options = options;
    options.faults.onRelease = () => {
      for (const stream of this.streams()) stream.release();
    };
  }

  /** Requests of managers that are under way. */
  get inFlight(): number {
    let sum = 0;
    for (const port of this.#ports) sum += port.inFlight;
    return sum;
  }

  start(): Manager {
    const { controllers, clock, random, log, leaderElection, connect, webhooks, certificateLives } =
      this.#options;
    const name = `manager-${++this.#started}`;
    const life = new ProcessLife();
    const port = this.#port(name, life, () => this.crash(manager));
    life.onResume = () => {
      for (const stream of port.streams) stream.release();
    };
    const manager = new Manager({
      name,
      controllers,
      clock,
      random: random.fork(name),
      port,
      life,
      log: log.child({ manager: name }),
      leaderElection,
      webhooks,
      ...(certificateLives && { certificateLives }),
      ...(connect && { connect: connect(life) }),
      onExit: (gone) => this.#replace(gone),
    });
    this.alive.push(manager);
    manager.start();
    return manager;
  }

  crash(victim: Manager | undefined = this.alive[0]): void {
    if (!victim?.alive) return;
    victim.kill();
    this.#replace(victim);
  }

  /** The manager that sends the n-th write from now dies before or after it takes effect. */
  crashAt(n: number, when: Crash["when"]): void {
    this.#planned = { index: this.writes.length + n, when };
  }

  /** The watches of all managers, of one resource (`pods`) when given. */
  streams(resource?: string): WatchStream[] {
    return this.alive
      .flatMap(({ port }) => [...port.streams])
      .filter(({ observed }) => resource === undefined || observed.resource === resource);
  }

  /** Kills all; none comes back. */
  close(): void {
    this.#closed = true;
    for (const manager of [...this.alive]) manager.kill();
  }

  #port(name: string, life: ProcessLife, onCrash: () => void): ManagerPort {
    const { http, clock, faults, role } = this.#options;
    const port = new ManagerPort({
      name,
      http,
      clock,
      faults,
      role,
      life,
      onRequest: (request) => {
        this.requests.push(request);
        if (request.index > 0) this.writes.push(request);
      },
      crashAt: () => this.#planned,
      nextIndex: () => this.writes.length + 1,
      onCrash: () => {
        this.#planned = undefined;
        onCrash();
      },
    });
    this.#ports.add(port);
    return port;
  }

  #replace(gone: Manager): void {
    this.alive.splice(this.alive.indexOf(gone), 1);
    this.#options.clock.timer(this.#options.restartMs, () => {
      if (!this.#closed) this.start();
    });
  }
}
