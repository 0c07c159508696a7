/** `keelson apiserver`: the server as a process of its own. */
import { readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Clock } from "@keelson/core";
import { ClosingStack, explainSystemError, sweepTemporary, temporaryDirectory } from "@keelson/machine";
import type { KeyPair } from "@keelson/pki";
import type { ClusterDialer } from "../contracts/dialer.ts";
import { FlagError, listOf } from "../contracts/flags.ts";
import type { Dispatch } from "../http/in-process.ts";
import { type Listening, listenOnSocket, listenSecurely } from "../http/listener.ts";
import { defaultPlugins } from "../server/plugins.ts";
import { type ApiServer, apiServer } from "../server/server.ts";
import { StorageError } from "../storage/errors.ts";
import { loadCredentials } from "./credentials.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { nodeJoining } from "./node-joining.ts";

/** Named as kube-apiserver names them, in camel case. */
export interface ApiServerFlags {
  /** 0 lets the kernel choose. Default 6443. */
  readonly port?: number;
  /** Bearer token of a member of system:masters. Default: random, and kept in the data directory. */
  readonly token?: string;
  /** A file with that token: a command line can be read by every user of the machine. */
  readonly tokenFile?: string;
  readonly dataDir?: string;
  /** Where the kubeconfig goes. Default: the data directory, or a temporary one. */
  readonly kubeconfig?: string;
  /** Path of the Unix socket. Default: beside the kubeconfig. */
  readonly socket?: string;
  readonly authorizationMode?: string;
  readonly disableAdmissionPlugins?: string;
  readonly enableAdmissionPlugins?: string;
  readonly clientCaFile?: string;
  readonly tokenAuthFile?: string;
  /** The serving certificate and its key, in PEM. Default: of the server's own authority. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly serviceAccountIssuer?: string;
  /** Keys by which tokens of service accounts are verified. */
  readonly serviceAccountKeyFile?: string;
  /** The key that signs them. Default: one of the server's own. */
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceClusterIpRange?: string;
  /** How long events are kept. Default 1h. */
  readonly eventTtl?: string;
}

/** An API server that listens. Disposal closes its sockets and its store. */
export interface RunningApiServer extends AsyncDisposable {
  readonly api: ApiServer;
  /** `https://127.0.0.1:6443` */
  readonly address: string;
  readonly token: string;
  readonly kubeconfig: string;
  /** Path of a kubeconfig with which nodes ask for a client certificate of their own, and can do nothing else. */
  readonly bootstrapKubeconfig: string;
  readonly socketPath: string;
  /** The cluster's certificate authority. */
  readonly authority: KeyPair;
}

/** What a server in somebody's process is given beside its flags. */
export interface ApiServerPorts {
  /** The server's time. Default: the real one. */
  readonly clock?: Clock;
  /** The way to pods. Default: the server's own network. */
  readonly dialer?: ClusterDialer;
  /** Serves what nodes and pods use. Default: false. */
  readonly resourceMetrics?: boolean;
}

/** Starts the server on loopback and on a Unix socket; nothing is reachable from other machines. */
export async function startApiServer(
  flags: ApiServerFlags,
  ports: ApiServerPorts = {},
): Promise<RunningApiServer> {
  const stack = new ClosingStack();
  try {
    return await start(flags, ports, stack);
  } catch (error) {
    await stack[Symbol.asyncDispose]();
    throw error;
  }
}

async function start(
  flags: ApiServerFlags,
  ports: ApiServerPorts,
  stack: ClosingStack,
): Promise<RunningApiServer> {
  // Where everything has its place already, there is nothing to put into a temporary one.
  const isPlaced = flags.socket !== undefined && flags.kubeconfig !== undefined;
  const directory = flags.dataDir ?? (isPlaced ? "" : await temporary(stack));
  const credentials = loadCredentials(
    flags.dataDir && join(directory, "pki"),
    Date.now(),
    flags.token ?? tokenIn(flags.tokenFile),
  );
  const { authority, serving, kubeletClient, frontProxy, token, bootstrapToken, accountKeyFile } =
    credentials;
  const clientAuthorities = [
    authority.certificate,
    ...(flags.clientCaFile ? [readFileSync(flags.clientCaFile, "utf8")] : []),
  ];
  const tls = { ...servingPair(flags, serving), clientAuthorities };
  // The port comes first, because objects name it; requests that come early wait.
  const { promise: ready, resolve: answer } = Promise.withResolvers<ApiServer>();
  let served: ApiServer | undefined;
  const dispatch: Dispatch = (request, user) =>
    served ? served.dispatch(request, user) : ready.then((api) => api.dispatch(request, user));
  const secure = await listenSecurely({ dispatch, host: "127.0.0.1", port: flags.port ?? 6443, tls });
  closing(stack, secure);
  const api = await apiServer({
    token,
    flags: {
      ...(accountKeyFile && { "service-account-signing-key-file": accountKeyFile }),
      ...serverFlags(flags),
    },
    caCertificate: authority.certificate,
    kubeletClient,
    frontProxy,
    plugins: [...defaultPlugins, nodeJoining(bootstrapToken)],
    onInternalError: (error, request) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`${request.method} ${request.target}: ${text}\n`);
    },
    advertise: { address: "127.0.0.1", port: secure.port },
    ...(flags.dataDir && { dataDir: join(directory, "objects") }),
    ...ports,
  });
  stack.use(api);
  // No request may come to a store that closes.
  closing(stack, secure);
  served = api;
  answer(api);
  const socketPath = flags.socket ?? join(directory, "apiserver.sock");
  closing(stack, await listenOnSocket({ dispatch, socketPath, tls }));
  const address = `https://127.0.0.1:${secure.port}`;
  const kubeconfig = flags.kubeconfig ?? join(directory, "kubeconfig");
  const caCertificate = authority.certificate;
  writeKubeconfig(kubeconfig, { server: address, user: "admin", token, caCertificate });
  const bootstrapKubeconfig = join(dirname(kubeconfig), `bootstrap-${basename(kubeconfig)}`);
  writeKubeconfig(bootstrapKubeconfig, {
    server: address,
    user: "node-bootstrap",
    token: bootstrapToken,
    caCertificate,
  });
  return {
    api,
    address,
    token,
    kubeconfig,
    bootstrapKubeconfig,
    socketPath,
    authority,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

/** The pair that the flags name, or the server's own. */
function servingPair({ tlsCertFile, tlsPrivateKeyFile }: ApiServerFlags, own: KeyPair) {
  if (tlsCertFile === undefined && tlsPrivateKeyFile === undefined) {
    return { certificate: own.certificate, key: own.key };
  }
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)
    throw new FlagError("--tls-cert-file and --tls-private-key-file go together");
  return { certificate: readFileSync(tlsCertFile, "utf8"), key: readFileSync(tlsPrivateKeyFile, "utf8") };
}

function tokenIn(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const token = readFileSync(file, "utf8").trim();
  if (token === "") throw new FlagError(`--token-file ${file} is empty`);
  return token;
}

/** Named for this process, so that the next one removes it if this one is killed. */
async function temporary(stack: ClosingStack): Promise<string> {
  await sweepTemporary();
  const directory = await temporaryDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function closing(stack: ClosingStack, listening: Listening): void {
  stack.defer(() => listening.close());
}

function serverFlags(flags: ApiServerFlags): Record<string, string> {
  const named: Record<string, string | undefined> = {
    "authorization-mode": flags.authorizationMode ?? "Node,RBAC",
    "disable-admission-plugins": flags.disableAdmissionPlugins,
    "enable-admission-plugins": enabledPlugins(flags),
    "enable-bootstrap-token-auth": "true",
    "event-ttl": flags.eventTtl,
    "client-ca-file": flags.clientCaFile,
    "token-auth-file": flags.tokenAuthFile,
    "service-cluster-ip-range": flags.serviceClusterIpRange,
    "service-account-issuer": flags.serviceAccountIssuer,
    "service-account-key-file": flags.serviceAccountKeyFile,
    "service-account-signing-key-file": flags.serviceAccountSigningKeyFile,
  };
  return Object.fromEntries(
    Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** NodeRestriction is on by default, and can be disabled. */
function enabledPlugins({ enableAdmissionPlugins, disableAdmissionPlugins }: ApiServerFlags): string {
  const off = new Set(listOf(disableAdmissionPlugins));
  const own = ["NodeRestriction"].filter((name) => !off.has(name));
  return [...new Set([...own, ...listOf(enableAdmissionPlugins)])].join(",");
}

/** Runs until it is told to end; the exit status. The address is printed when requests are answered. */
export async function runApiServer(flags: ApiServerFlags): Promise<number> {
  let running: RunningApiServer;
  try {
    running = await startApiServer(flags);
  } catch (error) {
    const ours = error instanceof StorageError || error instanceof FlagError;
    const sentence = ours ? error.message : explainSystemError(error);
    if (sentence === undefined) throw error;
    process.stderr.write(`${sentence}\n`);
    return 1;
  }
  await using server = running;
  process.stdout.write(`${server.address}\nkubeconfig ${server.kubeconfig}\nsocket ${server.socketPath}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  return 0;
}
