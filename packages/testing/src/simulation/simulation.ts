/** A world to try an operator in: a cluster in virtual time, nodes and volumes, a network, and an application that runs in pods. */
import type { StoredObjects } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import { labelSelectorFromLabels, matchesLabels } from "@keelson/core";
import type { AnyController, Connector } from "@keelson/runtime";
import { type Cluster, type ClusterOptions, type ClusterSnapshot, cluster } from "../cluster.ts";
import type { ProcessLife } from "../process-life.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { SimulatedGarbageCollector } from "./garbage.ts";
import { Later, type SimulationHost } from "./host.ts";
import { type KubeletState, SimulatedKubelet } from "./kubelet.ts";
import { Network } from "./network.ts";
import { type SimulatedNode, SimulatedNodes } from "./nodes.ts";
import type { Application, PodObject, SimulatedVolume } from "./process.ts";
import { SimulatedVolumes } from "./volumes.ts";

/** What an application is made with. */
export interface ApplicationParts {
  readonly clock: VirtualClock;
  readonly network: Network;
  readonly stored: StoredObjects;
  /** For applications that speak to the API server themselves: an administrator's client, which no fault touches. */
  readonly client: Client;
  /** Whether a node has power: without it nobody is there to refuse a connection. */
  isPowered(node: string): boolean;
}

/** What a simulation consists of. */
export interface SimulationOptions<A extends Application>
  extends Pick<
    ClusterOptions,
    "seed" | "resources" | "rules" | "managers" | "leaderElection" | "restartMs" | "log"
  > {
  readonly application: (parts: ApplicationParts) => A;
  /** The operator's controllers. The simulation is there by the time they are asked to do something. */
  readonly controllers: (simulation: () => Simulation<A>) => readonly AnyController[];
  /** Three by default. */
  readonly nodes?: readonly string[];
  /** What the garbage collector looks at, beside the usual kinds: `example.com/things`. */
  readonly collected?: readonly string[];
  /** Goes on from a checkpoint. */
  readonly from?: Checkpoint;
}

/** A simulation at rest, to begin others with. */
export interface Checkpoint {
  readonly cluster: ClusterSnapshot;
  readonly nodes: readonly SimulatedNode[];
  readonly kubelet: KubeletState;
  readonly volumes: readonly (readonly [string, SimulatedVolume])[];
  readonly application: unknown;
}

const usualNodes = ["node-1", "node-2", "node-3"];
const usualKinds = [
  "pods",
  "persistentvolumeclaims",
  "services",
  "secrets",
  "configmaps",
  "policy/poddisruptionbudgets",
  "apps/statefulsets",
  "batch/jobs",
];

/** Simulated nodes, volumes, network and applications around a cluster of a test. */
export interface Simulation<A extends Application = Application> extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly stored: StoredObjects;
  readonly application: A;
  readonly network: Network;
  readonly nodes: SimulatedNodes;
  readonly volumes: SimulatedVolumes;
  readonly kubelet: SimulatedKubelet;
  /** Whom an address of `ctx.connect` leads to, and who has it: for calls over the network. */
  caller(host: string): { readonly to: string; readonly life: ProcessLife | undefined };
  /** The pods that a Service leads to now. */
  endpoints(namespace: string, service: string): readonly PodObject[];
  /** Everything as it is now. Managers are not part of it: a run that continues from here begins with a new one. */
  checkpoint(): Checkpoint;
}

/** Starts a simulation. Hold it with `await using`. */
export async function simulation<A extends Application>(
  options: SimulationOptions<A>,
): Promise<Simulation<A>> {
  const { from, seed, resources, restartMs, log } = options;
  let started: Simulated<A> | undefined;
  const lives = new Map<string, ProcessLife>();
  const controllers = options.controllers(() => {
    if (!started) throw new Error("the simulation has not started yet");
    return started;
  });
  const running = await cluster({
    ...(seed !== undefined && { seed }),
    ...(resources && { resources }),
    ...(options.rules && { rules: options.rules }),
    ...(restartMs !== undefined && { restartMs }),
    ...(log && { log }),
    controllers,
    ...(from && { from: from.cluster }),
    managers: 0,
    leaderElection: options.leaderElection ?? (options.managers ?? 1) > 1,
    connectFrom: (life) => connectorOf(lives, life),
  });
  const network = new Network(running.clock);
  const { clock, stored } = running;
  const application = options.application({
    ...{ clock, network, stored, client: running.client },
    isPowered: (node) => started?.nodes.all.get(node)?.powered ?? true,
  });
  started = new Simulated(running, network, application, options, lives);
  await started.start(from);
  for (let i = 0; i < (options.managers ?? 1); i++) running.startManager();
  await clock.settle();
  return started;
}

/** Addresses are the names of pods and services, and the process that connects: see `Simulation.caller`. */
function connectorOf(lives: Map<string, ProcessLife>, life: ProcessLife): Connector {
  const id = String(lives.size + 1);
  lives.set(id, life);
  return async (target, port) => ({
    host: `${"pod" in target ? target.pod.name : target.service.name}#${id}`,
    port,
    [Symbol.asyncDispose]: async () => {},
  });
}

class Simulated<A extends Application> implements Simulation<A> {
  readonly cluster: Cluster;
  readonly application: A;
  readonly network: Network;
  readonly nodes: SimulatedNodes;
  readonly volumes: SimulatedVolumes;
  readonly kubelet: SimulatedKubelet;
  readonly #options: SimulationOptions<A>;
  readonly #lives: ReadonlyMap<string, ProcessLife>;
  readonly #later: Later;
  readonly #garbage: SimulatedGarbageCollector;
  readonly #stops: (() => void)[] = [];

  constructor(
    running: Cluster,
    network: Network,
    application: A,
    options: SimulationOptions<A>,
    lives: ReadonlyMap<string, ProcessLife>,
  ) {
    this.#lives = lives;
    network.onDeath = (life) => running.crash(running.managers.find((manager) => manager.life === life));
    this.cluster = running;
    this.network = network;
    this.application = application;
    this.#options = options;
    const host: SimulationHost = { client: running.client, stored: running.stored, clock: running.clock };
    const later = new Later(running.clock);
    this.#later = later;
    this.nodes = new SimulatedNodes(host, later);
    this.volumes = new SimulatedVolumes(host, later);
    this.kubelet = new SimulatedKubelet(
      { host, later, nodes: this.nodes, volumes: this.volumes },
      application,
    );
    this.#garbage = new SimulatedGarbageCollector(host, later, [...usualKinds, ...(options.collected ?? [])]);
  }

  get client(): Client {
    return this.cluster.client;
  }

  get clock(): VirtualClock {
    return this.cluster.clock;
  }

  get stored(): StoredObjects {
    return this.cluster.stored;
  }

  async start(from: Checkpoint | undefined): Promise<void> {
    if (from) {
      this.nodes.resume(from.nodes);
      for (const [uid, volume] of from.volumes) this.volumes.all.set(uid, { ...volume });
      this.application.restore?.(from.application, this.volumes.all);
      this.kubelet.resume(from.kubelet);
    } else await this.nodes.start(this.#options.nodes ?? usualNodes);
    this.#stops.push(this.volumes.start(), this.kubelet.start(), this.#garbage.start());
  }

  caller(host: string): { readonly to: string; readonly life: ProcessLife | undefined } {
    const [to = "", id = ""] = host.split("#");
    return { to, life: this.#lives.get(id) };
  }

  endpoints(namespace: string, service: string): readonly PodObject[] {
    const found = this.stored.get("services", service, namespace) as
      | { spec?: { selector?: Record<string, string>; publishNotReadyAddresses?: boolean } }
      | undefined;
    const { selector, publishNotReadyAddresses } = found?.spec ?? {};
    if (!selector || Object.keys(selector).length === 0) return [];
    const wanted = labelSelectorFromLabels(selector);
    return (this.stored.list("pods", namespace) as unknown as PodObject[]).filter(
      ({ metadata, status }) =>
        matchesLabels(wanted, metadata.labels ?? {}) &&
        (publishNotReadyAddresses ||
          (metadata.deletionTimestamp === undefined &&
            status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"))),
    );
  }

  checkpoint(): Checkpoint {
    return {
      cluster: this.cluster.snapshot(),
      nodes: [...this.nodes.all.values()].map((node) => ({ ...node })),
      kubelet: this.kubelet.save(),
      volumes: [...this.volumes.all].map(([uid, volume]) => [uid, { ...volume }] as const),
      application: this.application.save?.(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#later.stop();
    for (const stop of this.#stops) stop();
    await this.cluster[Symbol.asyncDispose]();
  }
}
