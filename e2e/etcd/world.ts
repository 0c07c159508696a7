/** A cluster with real pods, the operator outside it, and ways to break things. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "@keelson/client";
import { clusterDown, clusterUp } from "@keelson/cluster";
import { type Fault, type NodeHost, startNodes } from "@keelson/cluster/node";
import {
  EtcdBackup,
  EtcdBackupSchedule,
  EtcdCluster,
  type EtcdClusterObject,
  etcdCluster,
} from "@keelson/etcd-operator";
import {
  type Connector,
  forwardConnector,
  type ObjectOf,
  operator,
  type RunningOperator,
  silentLogger,
} from "keelson";
import { CustomResourceDefinition, Node, PersistentVolume, PersistentVolumeClaim, Pod } from "keelson/kinds";
import { Doors, type Endpoint, read } from "./client.ts";
import { Load } from "./load.ts";

export const namespace = "default";

export class World implements AsyncDisposable {
  readonly client: Client;
  readonly #stack: AsyncDisposableStack;
  readonly #nodes: NodeHost;
  readonly #serverPid: number;
  readonly #socket: string;
  /** Pods of etcd by name, as the API server last told. */
  readonly #pods = new Map<string, ObjectOf<typeof Pod>>();
  readonly #kubeconfig: string;
  #child: ChildProcess | undefined;
  #inside: RunningOperator | undefined;

  private constructor(
    client: Client,
    nodes: NodeHost,
    at: { readonly serverPid: number; readonly socket: string; readonly kubeconfig: string },
    stack: AsyncDisposableStack,
  ) {
    this.client = client;
    this.#nodes = nodes;
    this.#serverPid = at.serverPid;
    this.#socket = at.socket;
    this.#kubeconfig = at.kubeconfig;
    this.#stack = stack;
  }

  static async start(say: (sentence: string) => void): Promise<World> {
    const stack = new AsyncDisposableStack();
    try {
      const name = `e2e-etcd-${process.pid}`;
      const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-"));
      stack.defer(async () => await rm(directory, { recursive: true, force: true }));
      const record = await clusterUp({ name, nodes: 0, onProgress: say });
      // The cluster runs in the background: it must not outlive a run that breaks off.
      process.once("exit", () => end(record.pid));
      stack.defer(async () => void (await clusterDown(name)));
      const nodes = stack.use(
        await startNodes({
          kubeconfig: record.kubeconfig,
          names: ["node-1"],
          dataDirectory: join(directory, "node"),
          simulate: "never",
          onProgress: say,
        }),
      );
      const client = await connect({ kubeconfig: record.kubeconfig });
      stack.defer(async () => await client.close());
      const socket = join(directory, "node", "sockets", "dial");
      const world = new World(
        client,
        nodes,
        { serverPid: record.pid, socket, kubeconfig: record.kubeconfig },
        stack,
      );
      await world.#install();
      await world.#nodeIsReady();
      stack.defer(async () => await world.stopOperator());
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

  async #install(): Promise<void> {
    const crds = this.client.kind(CustomResourceDefinition);
    for (const each of [EtcdCluster, EtcdBackup, EtcdBackupSchedule]) await crds.create(each.crd() as never);
    await eventually("the custom resources are served", 20_000, async () => {
      const { items } = await crds.list();
      return items.every(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True"),
      );
    });
  }

  async #nodeIsReady(): Promise<void> {
    await eventually("the node is ready", 60_000, async () => {
      const { items } = await this.client.kind(Node).list();
      return items.some(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
      );
    });
  }

  // ------------------------------------------------------------------------------------ the operator

  /** A process of its own, as it would be in its pod. */
  async startOperator(): Promise<void> {
    const main = fileURLToPath(new URL("../../operators/etcd/src/main.ts", import.meta.url));
    const env = { ...process.env, KUBECONFIG: this.#kubeconfig };
    const child = spawn(process.execPath, ["--conditions=keelson-source", main], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the operator ended with ${code}`)));
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        if (text.includes("caches are complete")) resolve();
      });
    });
    child.removeAllListeners("exit");
  }

  /** In this process, so that its ways to the members can be cut while it runs. */
  async startBlindableOperator(): Promise<{ blind: boolean }> {
    const state = { blind: false };
    const forward = forwardConnector(this.client);
    const reach: Connector = async (target, port, scope) => {
      if (state.blind) throw new Error("the operator is cut off from the members");
      return await forward(target, port, scope);
    };
    this.#inside = await operator({
      name: "etcd-operator",
      controllers: [etcdCluster()],
      client: this.client,
      connect: reach,
      leaderElection: false,
      endpoints: false,
      log: silentLogger,
      shutdownMs: 2_000,
    }).start();
    return state;
  }

  /** Ends the operator: in good order, or as a power cut would. */
  async stopOperator(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#inside?.stop();
    this.#inside = undefined;
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  // ------------------------------------------------------------------------------------ clusters

  async create(name: string, spec: Partial<EtcdClusterObject["spec"]> & { version: string }): Promise<void> {
    await this.client.kind(EtcdCluster).create({ metadata: { namespace, name }, spec });
  }

  async change(name: string, spec: object): Promise<void> {
    await this.client
      .kind(EtcdCluster)
      .patch({ namespace, name }, { type: "merge", body: { spec } as never });
  }

  async annotate(name: string, annotations: Record<string, string>): Promise<void> {
    await this.client
      .kind(EtcdCluster)
      .patch({ namespace, name }, { type: "merge", body: { metadata: { annotations } } });
  }

  async get(name: string): Promise<EtcdClusterObject> {
    return await this.client.kind(EtcdCluster).get({ namespace, name });
  }

  /** As the spec says, for its current generation, with so many members that serve. */
  async isReady(name: string, size: number): Promise<boolean> {
    const { status, metadata } = await this.get(name);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return (
      status !== undefined &&
      status.observedGeneration === metadata.generation &&
      ready?.status === "True" &&
      status.readyMembers === size
    );
  }

  async whenReady(name: string, size: number, withinMs: number): Promise<void> {
    await eventually(
      `${name} has ${size} members`,
      withinMs,
      async () => await this.isReady(name, size),
      async () => {
        const { status } = await this.get(name);
        return JSON.stringify({
          ...status,
          conditions: status?.conditions?.map(({ type, status: is, message }) => `${type}=${is} ${message}`),
          inventory: undefined,
        });
      },
    );
  }

  async remove(name: string): Promise<void> {
    await this.change(name, { deletion: { volumes: "Remove" } });
    await this.client.kind(EtcdCluster).delete({ namespace, name });
    await eventually(
      `${name} is gone`,
      60_000,
      async () => (await this.client.kind(EtcdCluster).find({ namespace, name })) === undefined,
    );
  }

  async pod(name: string) {
    return await this.client.kind(Pod).find({ namespace, name });
  }

  async deletePod(name: string): Promise<void> {
    await this.client.kind(Pod).delete({ namespace, name });
  }

  load(name: string): Load {
    return new Load({ socket: this.#socket, endpoints: () => this.serving(name) });
  }

  /** Members that clients find behind the client service. */
  serving(name: string): readonly Endpoint[] {
    return [...this.#pods.values()].flatMap(({ metadata, status }) => {
      const { labels = {} } = metadata;
      const ours =
        labels["app.kubernetes.io/instance"] === name && labels["etcd.keelson.dev/role"] === "voter";
      const ready = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
      const ip = status?.podIP;
      return ours && ready && ip && metadata.deletionTimestamp === undefined
        ? [{ pod: metadata.name, ip }]
        : [];
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

  /** Reads from everyone whom clients would be sent to, and counts who has nothing. */
  guard(name: string): { stop(): Promise<number> } {
    const doors = new Doors(this.#socket);
    let [empty, stopped] = [0, false];
    const watching = (async () => {
      while (!stopped) {
        for (const endpoint of this.serving(name)) {
          const answer = await read(doors, endpoint, "load/0", { serializable: true }).catch(() => undefined);
          if (answer?.value === 0) empty++;
        }
        await sleep(50);
      }
    })();
    return {
      stop: async () => {
        stopped = true;
        await watching;
        doors.close();
        return empty;
      },
    };
  }

  /** The API server and its controllers stand still, as if gone. */
  stopApiServer(): void {
    process.kill(this.#serverPid, "SIGSTOP");
  }

  continueApiServer(): void {
    process.kill(this.#serverPid, "SIGCONT");
  }

  /** Follows who serves, as clients do with the endpoints of a service. */
  async #watchPods(signal: AbortSignal): Promise<void> {
    const events = this.client
      .kind(Pod)
      .reflect({ namespace, labels: "app.kubernetes.io/name=etcd", signal });
    try {
      for await (const event of events) {
        if (event.type === "restart") this.#pods.clear();
        if (event.type === "deleted") this.#pods.delete(event.object.metadata.name);
        if (event.type === "item" || event.type === "added" || event.type === "modified") {
          this.#pods.set(event.object.metadata.name, event.object);
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

/** Overwrites the database, all but its first pages. The write-ahead log would not do: etcd cuts it off and goes on. */
async function corrupt(volume: string): Promise<void> {
  const file = await open(join(volume, "data", "member", "snap", "db"), "r+");
  const { size } = await file.stat();
  const pages = 8_192;
  await file.write(Buffer.alloc(size - pages, 0xa5), 0, size - pages, pages);
  await file.close();
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}

/** Looks again and again; the error says what was waited for. */
export async function eventually(
  what: string,
  withinMs: number,
  holds: () => Promise<boolean>,
  last?: () => Promise<string>,
): Promise<void> {
  const until = performance.now() + withinMs;
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (performance.now() >= until) {
      throw new Error(
        `not in ${withinMs / 1_000} s: ${what}${last ? `; last seen: ${await last().catch(String)}` : ""}`,
      );
    }
    await sleep(100);
  }
}
