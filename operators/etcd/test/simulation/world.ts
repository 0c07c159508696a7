/** A whole world for a test: API server, kubelet, etcd, a client that writes, and oracles that watch. */

import { X509Certificate } from "node:crypto";
import { type Cluster, type ClusterOptions, cluster } from "@keelson/testing";
import { Pod } from "keelson/kinds";
import { EtcdCluster, type EtcdClusterObject } from "../../src/api/cluster.ts";
import { EtcdError } from "../../src/engine/errors.ts";
import { majority } from "../../src/engine/quorum.ts";
import { EtcdMetrics } from "../../src/metrics.ts";
import { type EtcdOptions, etcdCluster } from "../../src/reconcile.ts";
import { peerPort } from "../../src/resources/names.ts";
import { SimClient, SimEtcd } from "./etcd.ts";
import { SimKubelet } from "./kubelet.ts";

export const ref = { namespace: "default", name: "example" };

export interface WorldOptions extends Pick<ClusterOptions, "seed"> {
  readonly decide?: EtcdOptions["decide"];
}

export class World implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly etcd: SimEtcd;
  readonly kubelet: SimKubelet;
  readonly metrics: EtcdMetrics;
  /** Calls to etcd that change something, in order. */
  readonly calls: string[] = [];
  readonly #ledger = new Map<string, string>();
  #writing = false;
  #written = 0;

  private constructor(c: Cluster, etcd: SimEtcd, kubelet: SimKubelet, metrics: EtcdMetrics) {
    this.metrics = metrics;
    this.cluster = c;
    this.etcd = etcd;
    this.kubelet = kubelet;
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    let world: World | undefined;
    const metrics = new EtcdMetrics();
    const controllers = [
      etcdCluster({
        dial: (address) => {
          const process = world?.kubelet.processOf(address.host);
          if (!process) throw new EtcdError("Unreachable", `nothing listens at ${address.host}`);
          return new SimClient(process, address);
        },
        inspect: async ({ host, port }) => {
          const files = world?.kubelet.processOf(host)?.request.tls[port === peerPort ? "peer" : "client"];
          return files && new X509Certificate(files.leaf());
        },
        metrics,
        ...(options.decide && { decide: options.decide }),
      }),
    ];
    const c = await cluster({
      controllers,
      seed: options.seed ?? 1,
      connect: async (target, port) => ({
        host: "pod" in target ? target.pod.name : target.service.name,
        port,
        [Symbol.asyncDispose]: async () => {},
      }),
    });
    const etcd = new SimEtcd({ now: () => c.clock.monotonic(), touch: () => c.clock.touch() });
    const kubelet = new SimKubelet({ client: c.client, clock: c.clock, etcd });
    world = new World(c, etcd, kubelet, metrics);
    world.#watch();
    await kubelet.start();
    return world;
  }

  #watch(): void {
    const { etcd, kubelet } = this;
    etcd.onDeath = () => this.cluster.crash();
    etcd.intercept = ({ member, method, write }) => {
      if (!write) return "proceed";
      this.calls.push(`${method} via ${member}`);
      const dying = this.#dying;
      return dying?.index === this.calls.length ? `die-${dying.when}` : "proceed";
    };
    kubelet.onDelete = ({ metadata }) => this.#onDelete(metadata.name);
  }

  /** A pod that the operator ends must not be one whose voter the others need. */
  #onDelete(name: string): void {
    const ours = this.cluster.writes.some(
      ({ method, path, atMs }) =>
        method === "DELETE" && path.endsWith(`/pods/${name}`) && atMs === this.cluster.clock.monotonic(),
    );
    const process = this.kubelet.processOf(name);
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
      etcdViolation(this, `ending ${name} leaves ${others.length} of ${voters.length} voters`);
    }
    if (before && serving.length === others.length + 1 && group.leader === process) {
      etcdViolation(this, `the leader ${name} was ended`);
    }
    if (before && others.length < voters.length - 1 && serving.length === others.length + 1) {
      etcdViolation(this, `ending ${name} is a second disruption`);
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
    this.kubelet.stop();
    await this.cluster[Symbol.asyncDispose]();
  }
}

function etcdViolation(world: World, message: string): void {
  world.etcd.violation(message);
}
