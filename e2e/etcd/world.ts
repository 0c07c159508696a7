/** A control plane, a node with real pods, the operator in it, and ways to break things. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, NodeHost } from "@keelson/node";
import type { ObjectOf } from "keelson";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "keelson/kinds";
import type { LoadAmount } from "../explore/real-subject.ts";
import { type ControlPlaneName, type Ground, startGround } from "../operator/control-plane.ts";
import { makeOperatorImages } from "../operator/images.ts";
import { Installation } from "../operator/installation.ts";
import { Connections, type Endpoint, fill, read } from "./client.ts";
import { ClusterAccess, isServing, namespace } from "./cluster-access.ts";
import { corrupt } from "./damage.ts";
import { EtcdLoad } from "./load.ts";
import { makeBrokenRepository, operatorImages, project } from "./operator-images.ts";
import { Security } from "./security.ts";

export class World extends ClusterAccess implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly operator: Installation;
  readonly #stack: AsyncDisposableStack;
  readonly #nodes: NodeHost;
  readonly #serverPid: number;
  readonly #socket: string;
  /** Pods of etcd by namespace and name, as the API server last told. */
  readonly #pods = new Map<string, ObjectOf<typeof Pod>>();
  /** By namespace and name of the cluster. */
  readonly #security = new Map<string, Security>();
  #loads = 0;

  private constructor({ plane, nodes, dataDirectory }: Ground, stack: AsyncDisposableStack) {
    super(plane.client);
    this.kubeconfig = plane.kubeconfig;
    this.operator = new Installation(plane.client, project);
    this.#nodes = nodes;
    this.#serverPid = plane.pid;
    this.#socket = join(dataDirectory, "sockets", "dial");
    this.#stack = stack;
  }

  static async start(
    name: ControlPlaneName,
    say: (sentence: string) => void,
    { nodes = 1 }: { readonly nodes?: number } = {},
  ): Promise<World> {
    const stack = new AsyncDisposableStack();
    try {
      const ground = await startGround(stack, { controlPlane: name, nodes, say });
      await Promise.all([makeOperatorImages(project, operatorImages, say), makeBrokenRepository()]);
      const world = new World(ground, stack);
      await world.operator.install(operatorImages[0]);
      const watching = new AbortController();
      const watched = world.#watchPods(watching.signal);
      stack.defer(async () => {
        watching.abort();
        await watched;
      });
      return world;
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  // ------------------------------------------------------------------------------------ clusters

  /** Names of the pods and of the claims that there are of a cluster. */
  async objects(name: string): Promise<{ readonly pods: string[]; readonly claims: string[] }> {
    const names = (items: readonly { metadata: { name: string } }[]) =>
      items.map(({ metadata }) => metadata.name).sort();
    return { pods: names(await this.pods(name)), claims: names(await this.claims(name)) };
  }

  load(name: string, options: { readonly namespace?: string; readonly amount?: LoadAmount } = {}): EtcdLoad {
    const prefix = `load-${this.#loads++}`;
    const endpoints = () => this.serving(name, options.namespace);
    return new EtcdLoad({ socket: this.#socket, endpoints, prefix, amount: options.amount });
  }

  /** Ways to the members, for what clients of etcd can do beside writing. */
  connections(): Connections {
    return new Connections(this.#socket);
  }

  /** From now on, clients of that cluster use TLS and a password. */
  secure(namespace: string, name: string, password: string): void {
    const security = this.#stack.use(new Security({ client: this.client, namespace, name, password }));
    this.#security.set(`${namespace}/${name}`, security);
  }

  /** Writes so many keys of one megabyte each, or of so many bytes. */
  async fill(name: string, keys: number, prefix = "ballast", bytes = 1 << 20): Promise<void> {
    const connections = new Connections(this.#socket);
    try {
      for (let index = 0; index < keys; index++) {
        const [to] = this.serving(name);
        if (!to) throw new Error(`no member of ${name} serves`);
        await fill(connections, to, `${prefix}/${index}`, bytes);
      }
    } finally {
      connections.close();
    }
  }

  /** Members that clients find behind the client service. */
  serving(name: string, within = namespace): readonly Endpoint[] {
    return this.#endpoints(name, within, (pod) => {
      const role = pod.metadata.labels?.["etcd.keelson.dev/role"];
      return role === "voter" && isServing(pod);
    });
  }

  /** All members that have an address, whether clients are sent to them or not. */
  running(name: string): readonly Endpoint[] {
    return this.#endpoints(name, namespace, () => true);
  }

  #endpoints(
    name: string,
    within: string,
    counts: (pod: ObjectOf<typeof Pod>) => boolean,
  ): readonly Endpoint[] {
    const security = this.#security.get(`${within}/${name}`);
    return [...this.#pods.values()].flatMap((pod) => {
      const { metadata, status } = pod;
      const isOurs =
        metadata.namespace === within && metadata.labels?.["app.kubernetes.io/instance"] === name;
      const ip = status?.podIP;
      return isOurs && ip && counts(pod) ? [{ pod: metadata.name, ip, security }] : [];
    });
  }

  // ------------------------------------------------------------------------------------ faults

  async inject(fault: Fault): Promise<void> {
    await this.#nodes.inject(fault);
  }

  /** A member's data goes wrong under its feet, and its process ends. */
  async damage(member: string, how: "wipe" | "corrupt"): Promise<void> {
    const claim = await this.client.kind(PersistentVolumeClaim).get({ namespace, name: member });
    const volume = claim.spec?.volumeName ?? "";
    if (how === "wipe") await this.inject({ kind: "loseVolume", volume });
    else await corrupt(await this.#pathOf(volume));
    await this.inject({ kind: "kill", pod: { namespace, name: member } });
  }

  async #pathOf(volume: string): Promise<string> {
    const { spec } = await this.client.kind(PersistentVolume).get({ name: volume });
    const path = spec?.hostPath?.path ?? spec?.local?.path;
    if (path === undefined) throw new Error(`volume ${volume} is nowhere on this machine`);
    return path;
  }

  /** Reads a key that is there from everyone whom clients would be sent to, and counts who has nothing. */
  guard(name: string, key: string): { stop(): Promise<number> } {
    const connections = new Connections(this.#socket);
    let [empty, stopped] = [0, false];
    const watching = (async () => {
      while (!stopped) {
        for (const endpoint of this.serving(name)) {
          const answer = await read(connections, endpoint, key, { serializable: true }).catch(
            () => undefined,
          );
          if (answer?.value === 0) empty++;
        }
        await sleep(50);
      }
    })();
    return {
      stop: async () => {
        stopped = true;
        await watching;
        connections.close();
        return empty;
      },
    };
  }

  /** Freezes the API server; the embedded one with its controllers. */
  stopApiServer(): void {
    process.kill(this.#serverPid, "SIGSTOP");
  }

  continueApiServer(): void {
    process.kill(this.#serverPid, "SIGCONT");
  }

  /** Follows who serves, as clients do with the endpoints of a service. */
  async #watchPods(signal: AbortSignal): Promise<void> {
    const events = this.client.kind(Pod).reflect({ labels: "app.kubernetes.io/name=etcd", signal });
    try {
      for await (const event of events) {
        if (event.type === "restart") this.#pods.clear();
        if (event.type === "deleted") this.#pods.delete(keyOf(event.object));
        if (event.type === "item" || event.type === "added" || event.type === "modified") {
          this.#pods.set(keyOf(event.object), event.object);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function keyOf({ metadata }: ObjectOf<typeof Pod>): string {
  return `${metadata.namespace}/${metadata.name}`;
}
