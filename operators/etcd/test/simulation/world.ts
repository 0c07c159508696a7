/** A whole world for a test: API server, nodes, etcd, a client that writes, and oracles that watch. */

import { X509Certificate } from "node:crypto";
import {
  type Checkpoint,
  type Cluster,
  operatorName,
  type PodObject,
  type SimulatedVolume,
  type Simulation,
  simulation,
} from "@keelson/testing";
import { Pod } from "keelson/kinds";
import { EtcdCluster, type EtcdClusterObject } from "../../src/api/cluster.ts";
import { majority } from "../../src/engine/quorum.ts";
import { EtcdMetrics } from "../../src/metrics.ts";
import { type EtcdOptions, etcdCluster } from "../../src/reconcile.ts";
import { peerPort } from "../../src/resources/names.ts";
import { SimClient } from "./client.ts";
import { SimEtcd, type SimProcess } from "./etcd.ts";

export const ref = { namespace: "default", name: "example" };

export interface WorldOptions {
  readonly seed?: number;
  readonly decide?: EtcdOptions["decide"];
  /** Goes on from here. */
  readonly from?: WorldCheckpoint;
}

export interface WorldCheckpoint {
  readonly simulation: Checkpoint;
  readonly ledger: ReadonlyMap<string, string>;
  readonly written: number;
}

export class World implements AsyncDisposable {
  readonly simulation: Simulation<SimEtcd>;
  readonly metrics: EtcdMetrics;
  /** Calls to etcd that change something, in order. */
  readonly calls: string[] = [];
  readonly #ledger: Map<string, string>;
  #writing = false;
  #written: number;

  private constructor(started: Simulation<SimEtcd>, metrics: EtcdMetrics, from: WorldCheckpoint | undefined) {
    this.simulation = started;
    this.metrics = metrics;
    this.#ledger = new Map(from?.ledger);
    this.#written = from?.written ?? 0;
    this.#watch();
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const metrics = new EtcdMetrics();
    const started = await simulation<SimEtcd>({
      seed: options.seed ?? 1,
      application: (parts) => new SimEtcd(parts),
      controllers: (world) => [
        etcdCluster({
          dial: (address) => new SimClient(world(), address),
          inspect: async ({ host, port }) => {
            const process = world().kubelet.process(world().caller(host).to) as SimProcess | undefined;
            const files = process?.request.tls[port === peerPort ? "peer" : "client"];
            return files && new X509Certificate(files.leaf());
          },
          metrics,
          ...(options.decide && { decide: options.decide }),
        }),
      ],
      collected: ["etcd.keelson.dev/etcdclusters"],
      ...(options.from && { from: options.from.simulation }),
    });
    return new World(started, metrics, options.from);
  }

  /** Everything as it is, to begin other worlds with. Nothing may happen in this one any more. */
  checkpoint(): WorldCheckpoint {
    return { simulation: this.simulation.checkpoint(), ledger: this.#ledger, written: this.#written };
  }

  get cluster(): Cluster {
    return this.simulation.cluster;
  }

  get etcd(): SimEtcd {
    return this.simulation.application;
  }

  #watch(): void {
    this.simulation.network.intercept = ({ to, method, write }) => {
      if (!write) return "proceed";
      this.calls.push(`${method} via ${to}`);
      const dying = this.#dying;
      return dying?.index === this.calls.length ? `die-${dying.when}` : "proceed";
    };
    this.simulation.kubelet.onEnding = (pod) => this.#onEnding(pod);
  }

  /** A pod that the operator ends must not be one whose voter the others need. */
  #onEnding({ metadata: { name } }: PodObject): void {
    const ours = this.cluster.writes.some(
      ({ method, path, atMs }) =>
        method === "DELETE" && path.endsWith(`/pods/${name}`) && atMs === this.cluster.clock.monotonic(),
    );
    const process = this.processOf(name);
    if (!ours || !process || this.#allowed) return;
    const { group, memberId } = process.data;
    const voters = group.voters();
    if (!voters.some(({ id }) => id === memberId) || voters.length === 1) return;
    const serving = voters.filter(({ id }) => {
      const node = group.nodes.get(id);
      return node?.running() && group.served(node) && node.data.index === group.log.length;
    });
    const others = serving.filter(({ id }) => id !== memberId);
    const before = serving.length >= majority(voters.length);
    if (before && others.length < majority(voters.length)) {
      this.etcd.violation(`ending ${name} leaves ${others.length} of ${voters.length} voters`);
    }
    if (before && serving.length === others.length + 1 && group.leader === process) {
      this.etcd.violation(`the leader ${name} was ended`);
    }
    if (before && others.length < voters.length - 1 && serving.length === others.length + 1) {
      this.etcd.violation(`ending ${name} is a second disruption`);
    }
  }

  #dying: { readonly index: number; readonly when: "before" | "after" } | undefined;
  /** The operator dies before or after its n-th call from now that changes etcd. */
  dieAt(n: number, when: "before" | "after"): void {
    this.#dying = { index: this.calls.length + n, when };
  }

  #allowed = false;
  /** Hibernation and recovery stop everyone on purpose. */
  allowStops(): void {
    this.#allowed = true;
  }

  // ------------------------------------------------------------------------------------ the world around

  processOf(member: string): SimProcess | undefined {
    return this.simulation.kubelet.process(member) as SimProcess | undefined;
  }

  /** The volume behind a member's claim. */
  volumeOf(member: string): SimulatedVolume {
    const volume = this.simulation.volumes.of(ref.namespace, member);
    if (!volume) throw new Error(`${member} has no volume`);
    return volume;
  }

  nodeOf(member: string): string {
    const node = this.simulation.kubelet.run(member)?.node;
    if (node === undefined) throw new Error(`${member} runs on no node`);
    return node;
  }

  /** The operator cannot reach a member: it is turned away at once. */
  hide(member: string): () => void {
    return this.simulation.network.impair({ from: operatorName, to: member, how: "refused" });
  }

  /** Two members do not hear each other. */
  cut(a: string, b: string): () => void {
    return this.simulation.network.impair({ from: a, to: b, how: "dropped" });
  }

  // ------------------------------------------------------------------------------------ what tests do

  async create(spec: Partial<EtcdClusterObject["spec"]> & { version: string }): Promise<void> {
    await this.cluster.client.kind(EtcdCluster).create({ metadata: ref, spec });
  }

  async change(spec: object): Promise<void> {
    await this.cluster.client.kind(EtcdCluster).patch(ref, { type: "merge", body: { spec } as never });
  }

  async annotate(annotations: Record<string, string>): Promise<void> {
    await this.cluster.client
      .kind(EtcdCluster)
      .patch(ref, { type: "merge", body: { metadata: { annotations } } });
  }

  async get(): Promise<EtcdClusterObject> {
    return await this.cluster.client.kind(EtcdCluster).get(ref);
  }

  async leader(): Promise<string> {
    const { status } = await this.get();
    if (status?.leader === undefined) throw new Error("there is no leader");
    return status.leader;
  }

  async follower(): Promise<string> {
    const { status } = await this.get();
    const [follower] = (status?.members ?? []).filter(({ role }) => role === "Follower");
    if (!follower) throw new Error("there is no follower");
    return follower.name;
  }

  async podUids(): Promise<string[]> {
    const { items } = await this.cluster.client.kind(Pod).list(ref);
    return items.map(({ metadata }) => metadata.uid);
  }

  /** Lets time pass until the status says that all is well with so many members. */
  async settles(size: number): Promise<void> {
    for (let waited = 0; waited < 900; waited += 2) {
      await this.cluster.advance(2_000);
      const { status, metadata } = await this.get();
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      const current = status?.observedGeneration === metadata.generation && ready?.status === "True";
      if (current && status?.readyMembers === size) return;
    }
    const { status } = await this.get();
    throw new Error(
      `nothing settled: ${status?.conditions?.map((each) => `${each.type} ${each.status} ${each.message}`).join("; ")}`,
    );
  }

  /** Writes a key five times a second, and remembers what was acknowledged. */
  load(): void {
    if (this.#writing) return;
    this.#writing = true;
    const write = () => {
      if (!this.#writing) return;
      const key = `key-${this.#written % 20}`;
      const value = String(this.#written);
      if (this.etcd.put(key, value)) this.#ledger.set(key, value);
      this.#written++;
      this.cluster.clock.timer(200, write);
    };
    write();
  }

  rest(): void {
    this.#writing = false;
  }

  get acknowledged(): number {
    return this.#ledger.size;
  }

  /** What a run must never have done, and must have done. */
  verify(): void {
    if (this.etcd.violations.length > 0) throw new Error(this.etcd.violations.join("; "));
    const keys = this.#ledger.size === 0 ? new Map() : this.etcd.group.keys();
    for (const [key, value] of this.#ledger) {
      if (keys.get(key) !== value)
        throw new Error(`${key} was acknowledged as ${value} and is ${keys.get(key)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.rest();
    await this.simulation[Symbol.asyncDispose]();
  }
}
