/** The embedded cluster in one process: API server on sockets, controllers beside it, nodes as children. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Client, createClient } from "@keelson/client";
import { Node } from "@keelson/core/kinds";
import { type Logger, silentLogger } from "@keelson/runtime";
import { type ApiServerFlags, type RunningApiServer, startApiServer } from "./apiserver/index.ts";
import { startControllers } from "./controllers/index.ts";
import type { NodeHost } from "./node/index.ts";

export interface ClusterOptions {
  /** Nodes of our own; 1 unless told. None leaves a control plane for others' nodes. */
  readonly nodes?: number;
  /** Keeps objects and volumes here over restarts; in a temporary directory, gone afterwards, unless given. */
  readonly dataDir?: string;
  /** Where sockets, keys and the kubeconfig lie; inside a temporary directory unless given. */
  readonly stateDir?: string;
  /** Port on loopback; a free one unless given. */
  readonly port?: number;
  /** Bearer token of an administrator; drawn by lot unless given. */
  readonly token?: string;
  /** Flags of the API server. */
  readonly apiserver?: Omit<ApiServerFlags, "port" | "token" | "dataDir">;
  /** Runs the controllers and the scheduler; true unless told. */
  readonly controllers?: boolean;
  readonly log?: Logger;
  /** A sentence for people on each longer piece of work. */
  readonly onProgress?: (sentence: string) => void;
}

/** A running cluster. Disposal ends every process it started and removes what is temporary. */
export interface Cluster extends AsyncDisposable {
  /** `https://127.0.0.1:6443` */
  readonly server: string;
  readonly token: string;
  /** Path of a kubeconfig of an administrator, readable by its owner only. */
  readonly kubeconfig: string;
  /** A client in process, as an administrator. */
  readonly client: Client;
  /** Whether pods have processes behind them; `none` without nodes. */
  readonly pods: "real" | "simulated" | "none";
  /** Settles with the reason when a part ends that should not have. */
  readonly failure: Promise<Error>;
  stop(): Promise<void>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const stack = new AsyncDisposableStack();
  try {
    return await start(options, stack);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function start(options: ClusterOptions, stack: AsyncDisposableStack): Promise<Cluster> {
  const stateDir = await directory(options.stateDir, stack);
  const log = options.log ?? silentLogger;
  const api = stack.use(
    await startApiServer({
      port: 0,
      kubeconfig: join(stateDir, "kubeconfig"),
      socket: join(stateDir, "apiserver.sock"),
      ...options.apiserver,
      ...(options.dataDir && { dataDir: join(resolve(options.dataDir), "apiserver") }),
      ...(options.port !== undefined && { port: options.port }),
      ...(options.token && { token: options.token }),
    }),
  );
  const client = createClient({ http: api.api.http });
  const nodeDir = options.dataDir ? join(resolve(options.dataDir), "node") : join(stateDir, "node");
  if (options.controllers !== false) {
    stack.use(
      await startControllers({
        client,
        authority: api.authority,
        volumesDirectory: join(nodeDir, "volumes"),
        log,
      }),
    );
  }
  const host = await startNodes(options, api, nodeDir, stack);
  let stopped: Promise<void> | undefined;
  const cluster: Cluster = {
    server: api.address,
    token: api.token,
    kubeconfig: api.kubeconfig,
    client,
    pods: host ? (host.mode === "sandbox" ? "real" : "simulated") : "none",
    failure: host ? host.failure : new Promise(() => {}),
    stop: () => {
      stopped ??= stack.disposeAsync();
      return stopped;
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
  return cluster;
}

async function directory(given: string | undefined, stack: AsyncDisposableStack): Promise<string> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true, mode: 0o700 });
    return resolve(given);
  }
  const made = await mkdtemp(join(tmpdir(), "keelson-"));
  stack.defer(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function startNodes(
  options: ClusterOptions,
  api: RunningApiServer,
  dataDirectory: string,
  stack: AsyncDisposableStack,
): Promise<NodeHost | undefined> {
  const count = options.nodes ?? 1;
  if (count === 0) return undefined;
  const { startNodes } = await import("./node/index.ts");
  const host = stack.use(
    await startNodes({
      kubeconfig: api.kubeconfig,
      names: Array.from({ length: count }, (_, index) => `node-${index + 1}`),
      dataDirectory,
      ...(options.onProgress && { onProgress: options.onProgress }),
      log: (line) => options.log?.info(line),
    }),
  );
  await allReady(createClient({ http: api.api.http }), count);
  return host;
}

/** Resolves when this many nodes say that they are ready. */
async function allReady(client: Client, count: number): Promise<void> {
  const ready = new Set<string>();
  for await (const event of client.kind(Node).watch({ initialEvents: true, bookmarks: true })) {
    if (event.type === "bookmark" || event.type === "error") continue;
    const { metadata, status } = event.object;
    const isReady = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
    if (isReady && event.type !== "deleted") ready.add(metadata.name);
    else ready.delete(metadata.name);
    if (ready.size >= count) return;
  }
}
