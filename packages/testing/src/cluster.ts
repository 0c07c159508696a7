/** A cluster for a test: an API server in this process, managers that may die, and time that the test moves. */

import { type ApiServer, apiServer, type Snapshot, type StoredObjects } from "@keelson/apiserver";
import { type Client, createClient } from "@keelson/client";
import type { AnyKind, HttpPort, HttpRequest, HttpResponse } from "@keelson/core";
import {
  CustomResourceDefinition,
  MutatingWebhookConfiguration,
  Secret,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from "@keelson/core/kinds";
import {
  type AdmissionPolicy,
  type AnyController,
  type CertificateLives,
  type Connector,
  install,
  type LeaderElectionOptions,
  type Logger,
  type PolicyRule,
  roleFor,
  silentLogger,
  type Webhook,
  webhookConfigurations,
  webhookServiceName,
} from "@keelson/runtime";
import { convertedAmong, convertedCrd, permissionsOf } from "@keelson/runtime/internal";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { type ConvergeOptions, converge } from "./converge.ts";
import { Faults } from "./faults.ts";
import type { Manager } from "./manager.ts";
import { Managers } from "./managers.ts";
import type { ObservedRequest } from "./observed-request.ts";
import { RoleGate } from "./permissions.ts";
import type { ProcessLife } from "./process-life.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { SimulatedNodeOptions } from "./simulated-node.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { WebhookCalls } from "./webhook-port.ts";
import { startWorkloads } from "./workloads.ts";

/** What runs in the cluster of a test. */
export interface ClusterOptions {
  readonly controllers?: readonly AnyController[];
  /** Whether something outside is under way that virtual time must wait for: a call to a server of the test's own. */
  readonly busy?: () => boolean;
  /** Virtual time is the only kind: it moves only when the test moves it. */
  readonly clock?: "virtual";
  /** Everything random follows from it. Default: 1. */
  readonly seed?: number;
  /** Goes on from where another cluster was; its managers are not part of that. */
  readonly from?: ClusterSnapshot;
  /** What the managers may do beside what their controllers declare: for controllers that are started while they run. */
  readonly rules?: readonly PolicyRule[];
  /** Custom resources to install beside those that the controllers name. */
  readonly resources?: readonly { crd(): CustomResourceDefinitionObject }[];
  /**
   * Runs the cluster's own controllers (Deployments make ReplicaSets, those make Pods, …), its scheduler and a
   * simulated node on which pods start, become ready, finish and stop. Default: off.
   */
  readonly workloads?: boolean | SimulatedNodeOptions;
  /**
   * Webhooks that the managers serve. They are registered, and asked by the API server; so are conversions of the
   * resources that controllers and webhooks name.
   */
  readonly webhooks?: readonly Webhook[];
  /** Policies to install. */
  readonly policies?: readonly AdmissionPolicy[];
  /** How long their certificates live. Default: a year for an authority, 90 days for a certificate. */
  readonly certificateLives?: CertificateLives;
  /** Managers that run the controllers. Default: 1. */
  readonly managers?: number;
  /** Default: on with more than one manager. */
  readonly leaderElection?: boolean | LeaderElectionOptions;
  /** How long a crashed manager takes to come back. Default: 1 s. */
  readonly restartMs?: number;
  readonly log?: Logger;
  /** How `ctx.connect` reaches applications. Default: through the API server. */
  readonly connect?: Connector;
  /** As `connect`, for each manager by itself. */
  readonly connectFrom?: (life: ProcessLife) => Connector;
}

/** Everything that a cluster has stored, and its time. */
export interface ClusterSnapshot {
  readonly stored: Snapshot;
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/** A test’s own API server, controllers and managers, under a virtual clock. */
export interface Cluster extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly seed: number;
  /** The test's own client, an administrator's; no fault touches it. */
  readonly client: Client;
  /** What is stored, without a request: frozen objects. */
  readonly stored: StoredObjects;
  readonly faults: Faults;
  /** Those that are alive, in order of their start. */
  readonly managers: readonly Manager[];
  /** Every write of every manager, leases left out. */
  readonly writes: readonly ObservedRequest[];
  /** Every request of every manager. */
  readonly requests: readonly ObservedRequest[];
  /** Permissions that the generated role gives and no manager has used so far: `delete pods.`. */
  readonly unusedPermissions: readonly string[];
  /** Requests of managers that their role does not allow, as the server's sentences. */
  readonly forbidden: readonly string[];
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>;
  advance(ms: number): Promise<void>;
  /** Moves time on until the condition holds, and throws when it does not in time (default: 10 minutes). */
  until(condition: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  /** Waits until everything has come to rest, then demands that looking at everything again changes nothing. */
  converges(options?: ConvergeOptions): Promise<void>;
  /** The manager that sends the n-th write from now dies before or after it takes effect; a new one takes over. */
  crashAt(n: number, when: "before" | "after"): void;
  /** Kills a manager now. Default: the first. A new one takes over. */
  crash(manager?: Manager): void;
  /** Starts one more manager. */
  startManager(): Manager;
  /** Everything as it is now, to begin other clusters with. */
  snapshot(): ClusterSnapshot;
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
  const { from } = options;
  // What another cluster drew from the same seed must not be drawn again: it may be a uid that is in use.
  const random = new SeededRandom(seed, from ? `${from.monotonicMs}` : "");
  const clock = new VirtualClock({
    // A request that waits for a webhook waits for a manager, and that one may wait for time to pass.
    busy: () => admin.inFlight + managers.inFlight > calls.underWay || (options.busy?.() ?? false),
    ...(from && { startMs: from.nowMs - from.monotonicMs, elapsedMs: from.monotonicMs }),
  });
  const calls = new WebhookCalls(() => managers.alive.map(({ webhooks }) => webhooks), clock);
  const server = await apiServer({
    clock,
    callWebhook: calls.call,
    random: random.fork("server"),
    ...(from && { from: from.stored }),
    // Without the cluster's controllers nothing makes the accounts that pods would be refused without.
    ...(options.workloads ? {} : { flags: { "disable-admission-plugins": "ServiceAccount" } }),
  });
  const admin = new CountedPort(server.http, clock);
  const client = createClient({ http: admin, clock, random: random.fork("client"), fieldManager: "test" });
  const controllers = options.controllers ?? [];
  const log = options.log ?? silentLogger;
  const faults = new Faults();
  const webhooks = options.webhooks ?? [];
  const declared = roleFor(controllers, { lease: "test", webhooks: { name: "test", webhooks } });
  const role = new RoleGate([...declared, ...(options.rules ?? [])]);
  const managers = new Managers({
    controllers,
    http: { request: async (request) => await server.http.request(request) },
    clock,
    random,
    faults,
    role,
    log,
    leaderElection: options.leaderElection ?? (options.managers ?? 1) > 1,
    restartMs: options.restartMs ?? 1_000,
    connect: options.connectFrom ?? (options.connect && (() => options.connect as Connector)),
    webhooks,
    certificateLives: options.certificateLives,
  });
  if (!from) {
    await installResources(client, options, controllers);
    await installWebhooks(client, webhooks, controllers);
    for (const policy of options.policies ?? []) await installPolicy(client, policy);
  }
  const workloads = options.workloads
    ? await startWorkloads(options.workloads === true ? {} : options.workloads, {
        client,
        clock,
        random,
        log,
      })
    : undefined;
  const parts = { seed, random, clock, server, client, controllers, faults, role, managers, workloads };
  const started = new TestCluster(parts);
  const runs = controllers.length + webhooks.length > 0;
  for (let i = 0; i < (options.managers ?? 1) && runs; i++) managers.start();
  await clock.settle();
  return started;
}

/** The test's own way to the server: requests under way keep the clock from moving. */
class CountedPort implements HttpPort {
  readonly #http: HttpPort;
  readonly #clock: VirtualClock;
  inFlight = 0;

  constructor(http: HttpPort, clock: VirtualClock) {
    this.#http = http;
    this.#clock = clock;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    this.inFlight++;
    this.#clock.touch();
    try {
      return await this.#http.request(request);
    } finally {
      this.inFlight--;
    }
  }
}

interface ClusterParts {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly clock: VirtualClock;
  readonly server: Pick<ApiServer, "compact" | "close" | "stored">;
  readonly client: Client;
  readonly controllers: readonly AnyController[];
  readonly faults: Faults;
  readonly role: RoleGate;
  readonly managers: Managers;
  readonly workloads: AsyncDisposable | undefined;
}

class TestCluster implements Cluster {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly seed: number;
  readonly client: Client;
  readonly stored: StoredObjects;
  readonly faults: Faults;
  readonly managers: readonly Manager[];
  readonly writes: readonly ObservedRequest[];
  readonly requests: readonly ObservedRequest[];
  readonly #parts: ClusterParts;
  #down = false;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.random = parts.random;
    this.seed = parts.seed;
    this.client = parts.client;
    this.stored = parts.server.stored;
    this.faults = parts.faults;
    this.managers = parts.managers.alive;
    this.writes = parts.managers.writes;
    this.requests = parts.managers.requests;
  }

  get unusedPermissions(): readonly string[] {
    return this.#parts.role.unused();
  }

  get forbidden(): readonly string[] {
    return this.#parts.role.refused;
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  async until(condition: () => boolean | Promise<boolean>, withinMs = 600_000): Promise<void> {
    if (await this.clock.until(condition, withinMs)) return;
    throw new Error(
      `the condition did not hold within ${withinMs / 1000} s of virtual time (seed ${this.seed})`,
    );
  }

  converges(options?: ConvergeOptions): Promise<void> {
    return converge(this, this.#parts.controllers, options);
  }

  crashAt(n: number, when: "before" | "after"): void {
    this.#parts.managers.crashAt(n, when);
  }

  crash(manager?: Manager): void {
    this.#parts.managers.crash(manager);
  }

  startManager(): Manager {
    return this.#parts.managers.start();
  }

  snapshot(): ClusterSnapshot {
    const { clock } = this;
    return { stored: this.stored.snapshot(), nowMs: clock.now(), monotonicMs: clock.monotonic() };
  }

  breakWatches(resource?: string): void {
    for (const stream of this.#parts.managers.streams(resource)) stream.break();
  }

  endWatches(resource?: string): void {
    for (const stream of this.#parts.managers.streams(resource)) stream.end();
  }

  silenceWatches(resource?: string): void {
    for (const stream of this.#parts.managers.streams(resource)) stream.silence();
  }

  loseHistory(): void {
    this.#parts.server.compact();
    this.breakWatches();
  }

  outage(): { end(): void } {
    this.#down = true;
    this.faults.inject({
      on: () => this.#down,
      fault: { type: "refuse" },
      times: Number.POSITIVE_INFINITY,
    });
    this.breakWatches();
    return {
      end: () => {
        this.#down = false;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { managers, workloads, server } = this.#parts;
    this.#down = false;
    this.faults.clear();
    managers.close();
    await workloads?.[Symbol.asyncDispose]();
    await server.close();
  }
}

/** Installs the CRDs of every custom resource that a controller or the test names, and waits until they are served. */
async function installResources(
  client: Client,
  options: ClusterOptions,
  controllers: readonly AnyController[],
): Promise<void> {
  const wanted = new Map<string, CustomResourceDefinitionObject>();
  const kinds = controllers.flatMap((each) => permissionsOf(each).map(({ kind }) => kind));
  const asked = (options.webhooks ?? []).map(({ kind }) => kind);
  for (const each of [...(options.resources ?? []), ...[...kinds, ...asked].filter(hasCrd)]) {
    const crd = each.crd();
    wanted.set(crd.metadata.name, crd);
  }
  await install(
    client,
    [...wanted.values()].map((crd) => ({ crd: () => crd })),
  );
}

/** What `keelson generate` writes for webhooks; the manager fills in the certificates. */
async function installWebhooks(
  client: Client,
  webhooks: readonly Webhook[],
  controllers: readonly AnyController[],
): Promise<void> {
  const kinds = controllers.flatMap((each) => ("kind" in each ? [each.kind] : []));
  const converted = convertedAmong([...kinds, ...webhooks.map(({ kind }) => kind)]);
  if (webhooks.length === 0 && converted.length === 0) return;
  const { namespace } = client;
  const name = webhookServiceName("test");
  const place = { name: "test", place: { service: { namespace, name } } };
  await client.kind(Secret).create({ metadata: { namespace, name } });
  for (const resource of converted) {
    await client
      .kind(CustomResourceDefinition)
      .apply(convertedCrd(resource, place) as never, { force: true });
  }
  for (const configuration of webhookConfigurations(webhooks, place)) {
    const validating = configuration.kind === ValidatingWebhookConfiguration.kind;
    const kind: AnyKind = validating ? ValidatingWebhookConfiguration : MutatingWebhookConfiguration;
    await client.kind(kind).apply(configuration, { force: true });
  }
}

async function installPolicy(client: Client, policy: AdmissionPolicy): Promise<void> {
  const [made, binding] = policy.objects();
  await client.kind(ValidatingAdmissionPolicy).apply(made as never, { force: true });
  await client.kind(ValidatingAdmissionPolicyBinding).apply(binding as never, { force: true });
}

function hasCrd(kind: AnyKind): kind is AnyKind & { crd(): CustomResourceDefinitionObject } {
  return "crd" in kind;
}
