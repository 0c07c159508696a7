/** The embedded cluster in one process: API server on sockets, controllers beside it, nodes as children. */
import { mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ApiServerFlags, ClusterDialer, RunningApiServer } from "@keelson/apiserver";
import { type Client, createClient } from "@keelson/client";
import { PersistentVolume } from "@keelson/core/kinds";
import {
  ClosingStack,
  holdLock,
  removeTree,
  socketDirectory,
  sweepTemporary,
  temporaryDirectory,
} from "@keelson/machine";
import type { Fault, NodeHost } from "@keelson/node";
import type { Logger } from "@keelson/runtime";
import { ClusterError } from "./errors.ts";

/** What a cluster is started with. Every option has a default. */
export interface ClusterOptions {
  /** Nodes of our own. Default: 1. None leaves a control plane for others' nodes. */
  readonly nodes?: number;
  /** `auto`, the default, runs pods for real wherever the machine can; `always` and `never` decide. */
  readonly simulate?: "auto" | "always" | "never";
  /** Pods that each node takes. Default: 110. */
  readonly maxPods?: number;
  /** Keeps objects and volumes here over restarts. Default: in a temporary directory, gone afterwards. */
  readonly dataDir?: string;
  /** Where sockets, keys and the kubeconfig lie. Default: inside a temporary directory. */
  readonly stateDir?: string;
  /** Port on loopback. Default: a free port. */
  readonly port?: number;
  /** Bearer token of an administrator. Default: random. */
  readonly token?: string;
  /** Flags of the API server. */
  readonly apiserver?: Omit<ApiServerFlags, "port" | "token" | "dataDir">;
  /**
   * Runs the controllers and the scheduler. Default: true. Without them nobody signs certificates of nodes, and nodes of
   * our own act as the administrator.
   */
  readonly controllers?: boolean;
  /** Runs the scheduler beside the controllers. Default: true. Without it pods wait for somebody else's. */
  readonly scheduler?: boolean;
  /** A function is asked once there is something to say. */
  readonly log?: Logger | (() => Promise<Logger>);
  /** How long containers may take to end by themselves when the cluster stops. Default: 0. */
  readonly stopGraceMs?: number;
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
  /** Path of a kubeconfig with which nodes ask for a certificate of their own: `keelson node --bootstrap-kubeconfig`. */
  readonly bootstrapKubeconfig: string;
  /** A client in process, as an administrator. */
  readonly client: Client;
  /** Whether pods have processes behind them; `none` without nodes. */
  readonly pods: "real" | "simulated" | "none";
  /** Settles with the reason when a part ends that should not have. */
  readonly failure: Promise<Error>;
  /** Makes something go wrong with pods, volumes or nodes; throws in words when that is not possible. */
  inject(fault: Fault): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a cluster in this process: API server, controllers, scheduler, and nodes as children. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const stack = new ClosingStack();
  try {
    return await start(options, stack);
  } catch (error) {
    await stack[Symbol.asyncDispose]();
    throw error;
  }
}

/** What the parts of the start share. */
interface StartContext {
  readonly options: ClusterOptions;
  readonly stateDir: string;
  /** Volumes and logs of pods. */
  readonly nodeDir: string;
  readonly log: () => Promise<Logger | undefined>;
  readonly stack: ClosingStack;
}

async function start(options: ClusterOptions, stack: ClosingStack): Promise<Cluster> {
  const stateDir = await directory(options.stateDir, stack);
  const nodeDir = options.dataDir ? join(resolve(options.dataDir), "node") : join(stateDir, "node");
  const context: StartContext = { options, stateDir, nodeDir, log: lazily(options.log), stack };
  const sweeping = sweepTemporary();
  if (options.dataDir !== undefined) {
    await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
    stack.use(
      await holdLock(join(options.dataDir, "lock"), (pid, isElsewhere) =>
        inUse(resolve(options.dataDir ?? ""), pid, isElsewhere),
      ),
    );
    await assertNotMoved(nodeDir);
  }
  // The nodes' namespace first: other processes make it and load the node, while this one starts the API server.
  const launched = Promise.withResolvers<void>();
  const kubeconfig = Promise.withResolvers<string>();
  kubeconfig.promise.catch(() => undefined);
  const hosting = startNodes(context, () => {
    launched.resolve();
    return kubeconfig.promise;
  });
  await Promise.race([launched.promise, hosting.catch(() => undefined)]);
  const [api, host] = await both(startServer(context, kubeconfig, hosting), hosting, stack);
  await sweeping;
  const client = createClient({ http: api.api.http });
  let stopped: Promise<void> | undefined;
  const cluster: Cluster = {
    server: api.address,
    token: api.token,
    kubeconfig: api.kubeconfig,
    bootstrapKubeconfig: api.bootstrapKubeconfig,
    client,
    pods: host ? (host.mode === "sandbox" ? "real" : "simulated") : "none",
    failure: host ? host.failure : new Promise(() => {}),
    inject: async (fault) => {
      if (host === undefined) throw new ClusterError("Unsupported", "this cluster has no nodes of its own");
      await host.inject(fault.kind === "loseVolume" ? await withPath(fault, client) : fault);
    },
    stop: () => {
      stopped ??= stack[Symbol.asyncDispose]();
      return stopped;
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
  return cluster;
}

function inUse(dataDir: string, pid: string, isElsewhere: boolean): ClusterError {
  const [where, otherwise] = isElsewhere
    ? [" of another container", `, or remove ${join(dataDir, "lock")} if that container is gone`]
    : ["", ""];
  return new ClusterError(
    "InUse",
    `the data directory ${dataDir} is in use by process ${pid}${where}; stop that one first${otherwise}`,
  );
}

/**
 * Volumes are known by their whole paths. In a directory that was moved, pods would get new and empty ones at the old
 * place.
 */
async function assertNotMoved(nodeDir: string): Promise<void> {
  const path = join(nodeDir, "location");
  const before = (await readFile(path, "utf8").catch(() => "")).trim();
  if (before === nodeDir) return;
  const volumes = await readdir(join(nodeDir, "volumes")).catch(() => []);
  if (before === "" || volumes.length === 0) {
    await mkdir(nodeDir, { recursive: true, mode: 0o700 });
    await writeFile(path, `${nodeDir}\n`, { mode: 0o600 });
    return;
  }
  const [then, now] = await Promise.all(
    [before, nodeDir].map((each) => realpath(each).catch(() => undefined)),
  );
  if (then === now) return;
  throw new ClusterError(
    "BadDataDir",
    `the data directory was ${dirname(before)} and its volumes are known by that path; move it back there, or make a link there that leads to ${dirname(nodeDir)}`,
  );
}

/** What came up of the nodes is in the stack, above the server, even when the server did not. */
async function both(
  server: Promise<RunningApiServer>,
  hosting: Promise<NodeHost | undefined>,
  stack: ClosingStack,
): Promise<[RunningApiServer, NodeHost | undefined]> {
  const [api, host] = await Promise.allSettled([server, hosting]);
  if (host.status === "fulfilled" && host.value !== undefined) stack.use(host.value);
  if (api.status === "rejected") throw api.reason;
  if (host.status === "rejected") throw host.reason;
  return [api.value, host.value];
}

/** The API server, and the controllers beside it. `kubeconfig` is told as soon as requests are answered. */
async function startServer(
  { options, stateDir, nodeDir, log, stack }: StartContext,
  kubeconfig: PromiseWithResolvers<string>,
  hosting: Promise<NodeHost | undefined>,
): Promise<RunningApiServer> {
  try {
    options.onProgress?.("Starting the API server");
    const { startApiServer } = await import("@keelson/apiserver");
    const sockets = await socketDirectory(stateDir);
    if (sockets !== stateDir) stack.defer(() => removeTree(sockets));
    const api = stack.use(
      await startApiServer(
        {
          port: 0,
          kubeconfig: join(stateDir, "kubeconfig"),
          socket: join(sockets, "apiserver.sock"),
          ...options.apiserver,
          ...(options.dataDir && { dataDir: join(resolve(options.dataDir), "apiserver") }),
          ...(options.port !== undefined && { port: options.port }),
          ...(options.token && { token: options.token }),
        },
        options.nodes === 0 ? {} : { dialer: dialerOf(hosting), resourceMetrics: true },
      ),
    );
    kubeconfig.resolve(options.controllers === false ? api.kubeconfig : api.bootstrapKubeconfig);
    if (options.controllers === false) return api;
    options.onProgress?.("Starting the controllers");
    const [{ startControllers }, { silentLogger }] = await Promise.all([
      import("@keelson/controllers"),
      import("@keelson/runtime"),
    ]);
    stack.use(
      await startControllers({
        client: createClient({ http: api.api.http }),
        authority: api.authority,
        ...(options.scheduler !== undefined && { scheduler: options.scheduler }),
        volumesDirectory: join(nodeDir, "volumes"),
        removeVolume: removeTree,
        log: (await log()) ?? silentLogger,
      }),
    );
    return api;
  } catch (error) {
    kubeconfig.reject(error);
    throw error;
  }
}

/** Pods live in the nodes' own network; the machine may have the same addresses for somebody else. */
function dialerOf(hosting: Promise<NodeHost | undefined>): ClusterDialer {
  return {
    async dial(address, port, signal) {
      const host = await hosting;
      if (!host) throw new ClusterError("Unsupported", "this cluster has no nodes of its own");
      return await host.dial(address, port, signal);
    },
  };
}

/** A node may know only the volumes of its pods, and it is lost volumes that nobody uses, too. */
async function withPath(
  fault: Extract<Fault, { kind: "loseVolume" }>,
  client: Client,
): Promise<Extract<Fault, { kind: "loseVolume" }>> {
  const { spec } = (await client.kind(PersistentVolume).find({ name: fault.volume })) ?? {};
  const path = spec?.hostPath?.path ?? spec?.local?.path;
  return path === undefined ? fault : { ...fault, path };
}

/** Asks for the logger once, when it is first needed. */
function lazily(log: ClusterOptions["log"]): () => Promise<Logger | undefined> {
  let known: Promise<Logger | undefined> | undefined;
  return () => {
    known ??= typeof log === "function" ? log() : Promise.resolve(log);
    return known;
  };
}

async function directory(given: string | undefined, stack: ClosingStack): Promise<string> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true, mode: 0o700 });
    return resolve(given);
  }
  const made = await temporaryDirectory();
  stack.defer(() => removeTree(made));
  return made;
}

async function startNodes(
  { options, nodeDir, log }: StartContext,
  kubeconfig: () => Promise<string>,
): Promise<NodeHost | undefined> {
  const count = options.nodes ?? 1;
  if (count === 0) return undefined;
  options.onProgress?.(count === 1 ? "Starting a node" : `Starting ${count} nodes`);
  const { startNodes, superviseNodes } = await import("@keelson/node");
  const say = (line: string) => void log().then((logger) => logger?.info(line));
  const start = () =>
    startNodes({
      ...(options.controllers === false ? { kubeconfig } : { bootstrapKubeconfig: kubeconfig }),
      names: Array.from({ length: count }, (_, index) => `node-${index + 1}`),
      dataDirectory: nodeDir,
      ...(options.simulate && { simulate: options.simulate }),
      ...(options.maxPods !== undefined && { maxPods: options.maxPods }),
      ...(options.onProgress && { onProgress: options.onProgress }),
      ...(options.stopGraceMs !== undefined && { stopGraceMs: options.stopGraceMs }),
      log: say,
    });
  return await superviseNodes({ start, log: say });
}
