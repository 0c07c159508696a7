/** `connect()`: a client for the cluster that the environment, a kubeconfig or the pod we run in names. */
import { isatty } from "node:tty";
import type { World } from "@keelson/core";
import type { Client } from "../client/client.ts";
import { systemWorld } from "../system.ts";
import type { Credentials } from "../transport/transport.ts";
import { type ClientConfig, createClient } from "../verbs/create-client.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import type { Kubeconfig, KubeconfigDocument } from "./kubeconfig.ts";

/** Which kubeconfig and context a client uses. Default: as kubectl. */
export interface ConnectOptions extends Omit<ClientConfig, "http" | "host" | "clock" | "random" | "onClose"> {
  /** A path, or a kubeconfig's content. */
  readonly kubeconfig?: string | KubeconfigDocument;
  /** A context other than the current one. Default: what the environment variable `KEELSON_CONTEXT` names. */
  readonly context?: string;
  /** Requests under way at the same time, streams apart. Default: 32. */
  readonly connections?: number;
  /** Uses HTTP/2 for requests where the server offers it. */
  readonly http2?: boolean;
  /** Who we are, in place of the kubeconfig's user. */
  readonly credentials?: Credentials;
  readonly world?: World;
}

/**
 * Connects by, in this order: the kubeconfig passed in, the files in `KUBECONFIG`, the pod we run in, and
 * `~/.kube/config`. `KEELSON_CONTEXT` names a context of those files. Settings are checked here, with one sentence for what is wrong; nothing is sent yet.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const world = options.world ?? systemWorld;
  const [connection, { createTransport }] = await Promise.all([
    connectionFor(options, world),
    import("../transport/transport.ts"),
  ]);
  const {
    connections,
    http2,
    kubeconfig: _kubeconfig,
    context: _context,
    world: _world,
    credentials = connection.transport.credentials,
    ...config
  } = options;
  const transport = createTransport({ ...connection.transport, credentials, connections, http2 });
  return createClient({
    impersonate: connection.impersonate,
    ...config,
    namespace: options.namespace ?? connection.namespace,
    http: transport,
    host: transport.host,
    clock: world.clock,
    random: world.random,
    onClose: () => transport.close(),
  });
}

/** The merged kubeconfig that `connect` would use, for tools that list or choose contexts. */
export async function loadKubeconfig(
  options: Pick<ConnectOptions, "kubeconfig" | "world"> = {},
): Promise<Kubeconfig> {
  const { kubeconfigPaths, parseKubeconfig, readKubeconfig } = await import("./kubeconfig.ts");
  const { kubeconfig } = options;
  if (typeof kubeconfig === "object") return parseKubeconfig(kubeconfig, "kubeconfig");
  const { env } = (options.world ?? systemWorld).process;
  return await readKubeconfig(kubeconfig === undefined ? kubeconfigPaths(env) : [kubeconfig]);
}

async function connectionFor(options: ConnectOptions, world: World): Promise<Connection> {
  const { inClusterConnection, isInCluster, kubeconfigConnection } = await import("./connection.ts");
  const { env } = world.process;
  // A kubeconfig that is passed in is the program's own choice: the environment does not speak of it.
  const named = options.kubeconfig === undefined ? env.KEELSON_CONTEXT || undefined : undefined;
  const context = options.context ?? named;
  const settings: ConnectionOptions = {
    context,
    process: world.process,
    clock: world.clock,
    interactive: world === systemWorld && isatty(0),
  };
  const asked = options.kubeconfig !== undefined || context !== undefined || env.KUBECONFIG;
  if (!asked && (await isInCluster(world.process))) return await inClusterConnection(settings);
  return await kubeconfigConnection(await loadKubeconfig(options), settings);
}
