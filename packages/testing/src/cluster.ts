/** A cluster for a test: an API server in this process, managers that may die, and time that the test moves. */

import { apiServer } from "@keelson/apiserver";
import { type Client, createClient } from "@keelson/client";
import type { AnyKind, HttpPort } from "@keelson/core";
import {
  type AnyController,
  type Connector,
  install,
  type LeaderElectionOptions,
  type Logger,
  permissionsOf,
  roleFor,
  silentLogger,
} from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { type ConvergeOptions, converge } from "./converge.ts";
import { Faults } from "./faults.ts";
import { Manager } from "./manager.ts";
import { type Crash, ManagerPort, type ObservedRequest } from "./manager-port.ts";
import { RoleGate } from "./permissions.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { SimulatedNodeOptions } from "./simulated-node.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { startWorkloads } from "./workloads.ts";

export interface ClusterOptions {
  readonly controllers?: readonly AnyController[];
  /** Virtual time is the only kind: it stands still until the test moves it. */
  readonly clock?: "virtual";
  /** Everything random follows from it; 1 unless told. */
  readonly seed?: number;
  /** Custom resources to install beside those that the controllers name. */
  readonly resources?: readonly { crd(): CustomResourceDefinitionObject }[];
  /**
   * Runs the cluster's own controllers (Deployments make ReplicaSets, those make Pods, …), its scheduler and a
   * simulated node on which pods start, become ready, finish and stop. Off unless told.
   */
  readonly workloads?: boolean | SimulatedNodeOptions;
  /** Managers that run the controllers; 1 unless told. */
  readonly managers?: number;
  /** On with more than one manager, unless told. */
  readonly leaderElection?: boolean | LeaderElectionOptions;
  /** How long a crashed manager takes to come back; 1 s unless told. */
  readonly restartMs?: number;
  readonly log?: Logger;
  /** How `ctx.connect` reaches applications; through the API server unless told. */
  readonly connect?: Connector;
}

export interface Cluster extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly seed: number;
  /** The test's own client, an administrator's; no fault touches it. */
  readonly client: Client;
  readonly faults: Faults;
  /** Those that are alive, in order of their start. */
  readonly managers: readonly Manager[];
  /** Every write of every manager, leases left out. */
  readonly writes: readonly ObservedRequest[];
  /** Every request of every manager. */
  readonly requests: readonly ObservedRequest[];
  /** Permissions that the generated role gives and no manager has used so far: `delete pods.`. */
  readonly unusedPermissions: readonly string[];
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>;
  advance(ms: number): Promise<void>;
  /** Moves time on until the condition holds, and throws when it does not in time (10 minutes unless told). */
  until(condition: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  /** Waits until everything has come to rest, then demands that looking at everything again changes nothing. */
  converges(options?: ConvergeOptions): Promise<void>;
  /** The manager that sends the n-th write from now dies before or after it takes effect; a new one takes over. */
  crashAt(n: number, when: "before" | "after"): void;
  /** Kills a manager now; the first unless given. A new one takes over. */
  crash(manager?: Manager): void;
  /** Starts one more manager. */
  startManager(): Manager;
  /** Breaks every watch connection, of one resource (`pods`) when given. */
  breakWatches(resource?: string): void;
  /** Ends every watch in good order. */
  endWatches(resource?: string): void;
  /** Watches stay open and say nothing more. */
  silenceWatches(resource?: string): void;
  /** Breaks watches and forgets history: managers see only what is left, never what happened (410). */
  loseHistory(): void;
  /** The API server cannot be reached until the test says otherwise. */
  outage(): { end(): void };
}

/** Starts a cluster. Hold it with `await using`. */
export async function cluster(options: ClusterOptions = {}): Promise<Cluster> {
  const seed = options.seed ?? 1;
  const random = new SeededRandom(seed);
  const ports = new Set<ManagerPort>();
  let adminInFlight = 0;
  const clock = new VirtualClock({
    busy: () => adminInFlight > 0 || [...ports].some((port) => port.inFlight > 0),
  });
  const server = await apiServer({
    clock,
    random: random.fork("server"),
    // Without the cluster's controllers nobody makes the accounts that pods would be refused without.
    ...(options.workloads ? {} : { flags: { "disable-admission-plugins": "ServiceAccount" } }),
  });
  const admin: HttpPort = {
    request: async (request) => {
      adminInFlight++;
      clock.touch();
      try {
        return await server.http.request(request);
      } finally {
        adminInFlight--;
      }
    },
  };
  const client = createClient({ http: admin, clock, random: random.fork("client"), fieldManager: "test" });
  const faults = new Faults();
  const managers: Manager[] = [];
  const requests: ObservedRequest[] = [];
  const writes: ObservedRequest[] = [];
  const log = options.log ?? silentLogger;
  const controllers = options.controllers ?? [];
  const role = new RoleGate(roleFor(controllers, { lease: "test" }));
  let started = 0;
  let planned: Crash | undefined;
  let closed = false;
  let down = false;

  await installResources(client, options, controllers);
  const workloads = options.workloads
    ? await startWorkloads(options.workloads === true ? {} : options.workloads, {
        client,
        clock,
        random,
        log,
      })
    : undefined;

  const startManager = (): Manager => {
    const name = `manager-${++started}`;
    const port = new ManagerPort({
      name,
      http: {
        request: async (request) => await server.http.request(request),
      },
      clock,
      faults,
      role,
      onRequest: (request) => {
        requests.push(request);
        if (request.index > 0) writes.push(request);
      },
      crashAt: () => planned,
      nextIndex: () => writes.length + 1,
      onCrash: () => {
        planned = undefined;
        crash(manager);
      },
    });
    ports.add(port);
    const election = options.leaderElection ?? (options.managers ?? 1) > 1;
    const manager = new Manager({
      name,
      controllers,
      clock,
      random: random.fork(name),
      port,
      log: log.child({ manager: name }),
      leaderElection: election,
      ...(options.connect && { connect: options.connect }),
      onExit: replace,
    });
    managers.push(manager);
    manager.start();
    return manager;
  };
  const crash = (victim: Manager | undefined = managers[0]): void => {
    if (!victim?.alive) return;
    victim.kill();
    replace(victim);
  };
  const replace = (gone: Manager): void => {
    managers.splice(managers.indexOf(gone), 1);
    clock.timer(options.restartMs ?? 1_000, () => {
      if (!closed) startManager();
    });
  };
  const streams = (resource: string | undefined) =>
    managers
      .flatMap(({ port }) => [...port.streams])
      .filter(({ observed }) => resource === undefined || observed.resource === resource);
  faults.onRelease = () => {
    for (const stream of streams(undefined)) stream.release();
  };

  const self: Cluster = {
    clock,
    random,
    seed,
    client,
    faults,
    managers,
    writes,
    requests,
    get unusedPermissions() {
      return role.unused();
    },
    settle: () => clock.settle(),
    advance: (ms) => clock.advance(ms),
    until: async (condition, withinMs = 600_000) => {
      if (await clock.until(condition, withinMs)) return;
      throw new Error(
        `the condition did not hold within ${withinMs / 1000} s of virtual time (seed ${seed})`,
      );
    },
    converges: (wanted) => converge(self, controllers, wanted),
    crashAt: (n, when) => {
      planned = { index: writes.length + n, when };
    },
    crash,
    startManager,
    breakWatches: (resource) => {
      for (const stream of streams(resource)) stream.break();
    },
    endWatches: (resource) => {
      for (const stream of streams(resource)) stream.end();
    },
    silenceWatches: (resource) => {
      for (const stream of streams(resource)) stream.silence();
    },
    loseHistory: () => {
      server.compact();
      for (const stream of streams(undefined)) stream.break();
    },
    outage: () => {
      down = true;
      faults.inject({ on: () => down, fault: { type: "refuse" }, times: Number.POSITIVE_INFINITY });
      for (const stream of streams(undefined)) stream.break();
      return {
        end: () => {
          down = false;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      faults.clear();
      down = false;
      for (const manager of [...managers]) manager.kill();
      await workloads?.[Symbol.asyncDispose]();
      await server.close();
    },
  };
  for (let i = 0; i < (options.managers ?? 1) && controllers.length > 0; i++) startManager();
  await clock.settle();
  return self;
}

/** Installs the CRDs of every custom resource that a controller or the test names, and waits until they are served. */
async function installResources(
  client: Client,
  options: ClusterOptions,
  controllers: readonly AnyController[],
): Promise<void> {
  const wanted = new Map<string, CustomResourceDefinitionObject>();
  const kinds = controllers.flatMap((each) => permissionsOf(each).map(({ kind }) => kind));
  for (const each of [...(options.resources ?? []), ...kinds.filter(hasCrd)]) {
    const crd = each.crd();
    wanted.set(crd.metadata.name, crd);
  }
  await install(
    client,
    [...wanted.values()].map((crd) => ({ crd: () => crd })),
  );
}

function hasCrd(kind: AnyKind): kind is AnyKind & { crd(): CustomResourceDefinitionObject } {
  return "crd" in kind;
}
