/** From a kubeconfig, or from inside a pod, to the settings of a connection. */
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, ProcessPort } from "@keelson/core";
import type { Impersonation } from "../client/client.ts";
import { ClientError } from "../errors.ts";
import { parseServer } from "../transport/server-address.ts";
import type { TransportSettings } from "../transport/transport.ts";
import { environmentProxy, isLoopback } from "./environment-proxy.ts";
import type { ClusterEntry, Kubeconfig } from "./kubeconfig.ts";
import { RotatingFile } from "./rotating-file.ts";
import { tokenCredentials, userCredentials } from "./user-credentials.ts";

export interface Connection {
  readonly transport: TransportSettings;
  readonly namespace?: string;
  readonly impersonate?: Impersonation;
}

export interface ConnectionOptions {
  readonly context?: string;
  readonly process: ProcessPort;
  readonly clock: Clock;
  readonly interactive: boolean;
}

/** The connection that a context describes. Throws one sentence about the first thing that is wrong with it. */
export async function kubeconfigConnection(
  config: Kubeconfig,
  options: ConnectionOptions,
): Promise<Connection> {
  const { name, context } = contextOf(config, options.context);
  const where = `context ${JSON.stringify(name)} of ${config.files.join(", ")}`;
  const cluster = config.clusters.get(context.cluster);
  if (cluster === undefined) {
    throw invalid(
      context.cluster
        ? `${where} names the cluster ${JSON.stringify(context.cluster)}, which is not there; ${choice(config.clusters, "cluster")}`
        : `${where} names no cluster`,
    );
  }
  const user = context.user === undefined ? {} : config.users.get(context.user);
  if (user === undefined) {
    throw invalid(
      `${where} names the user ${JSON.stringify(context.user)}, which is not there; ${choice(config.users, "user")}`,
    );
  }
  const clusterName = JSON.stringify(context.cluster);
  if (!cluster.server) throw invalid(`cluster ${clusterName} has no server`);
  const server = parseServer(cluster.server);
  const ca = await authorityOf(cluster, clusterName);
  if (ca !== undefined && cluster.insecureSkipTlsVerify) {
    throw invalid(
      `cluster ${clusterName} has both a certificate-authority and insecure-skip-tls-verify; remove one`,
    );
  }
  if (!user.as && (user.asUid || user.asGroups?.length || Object.keys(user.asUserExtra ?? {}).length > 0)) {
    throw invalid(`user ${JSON.stringify(context.user)} has as-uid, as-groups or as-user-extra and no as`);
  }
  // As kubectl does, nothing secret is sent in the clear, except where it cannot leave the machine.
  const confidential = server.secure || server.socketPath !== undefined || isLoopback(server.host);
  return {
    namespace: context.namespace,
    impersonate: user.as
      ? { user: user.as, uid: user.asUid, groups: user.asGroups, extra: user.asUserExtra }
      : undefined,
    transport: {
      server: cluster.server,
      ca: cluster.certificateAuthorityData ?? rotating(cluster.certificateAuthority, ca, options.clock),
      serverName: cluster.tlsServerName,
      insecure: cluster.insecureSkipTlsVerify,
      proxy: cluster.proxyUrl ?? environmentProxy(server, options.process.env),
      clock: options.clock,
      credentials: confidential
        ? userCredentials({ ...options, entry: user, user: context.user ?? "", cluster, ca })
        : undefined,
    },
  };
}

function contextOf(config: Kubeconfig, wanted: string | undefined) {
  const name = wanted ?? config.currentContext;
  if (name === undefined) {
    throw invalid(`${config.files.join(", ")} has no current-context; ${choice(config.contexts, "context")}`);
  }
  const context = config.contexts.get(name);
  if (context === undefined) {
    throw invalid(
      `${config.files.join(", ")} has no context ${JSON.stringify(name)}; ${choice(config.contexts, "context")}`,
    );
  }
  return { name, context };
}

function choice(entries: ReadonlyMap<string, unknown>, what: string): string {
  const names = [...entries.keys()];
  if (names.length === 0) return `there is no ${what} at all; is KUBECONFIG set to the right file?`;
  return `choose one of ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""}`;
}

function invalid(message: string): ClientError {
  return new ClientError("KubeconfigInvalid", message);
}

async function authorityOf(cluster: ClusterEntry, name: string): Promise<string | undefined> {
  if (cluster.certificateAuthorityData !== undefined) return cluster.certificateAuthorityData;
  if (cluster.certificateAuthority === undefined) return undefined;
  try {
    return await readFile(cluster.certificateAuthority, "utf8");
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = missing ? "it does not exist" : (cause as Error).message;
    throw new ClientError(
      "CertificateUnreadable",
      `the certificate-authority ${cluster.certificateAuthority} of cluster ${name} cannot be read: ${why}`,
      { cause },
    );
  }
}

/** A file is read again as it rotates; what a kubeconfig itself holds is what it is. */
function rotating(path: string | undefined, content: string | undefined, clock: Clock) {
  return path === undefined || content === undefined
    ? content
    : new RotatingFile(path, "certificate-authority", clock, content);
}

/** Where the kubelet puts a pod's identity. */
export const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

export async function isInCluster(process: ProcessPort, folder = serviceAccountFolder): Promise<boolean> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (!host || !port) return false;
  return await access(join(folder, "token")).then(
    () => true,
    () => false,
  );
}

/** The connection of a pod to its own cluster, by its service account. Token and authority are read again as they rotate. */
export async function inClusterConnection(
  options: Pick<ConnectionOptions, "process" | "clock">,
  folder = serviceAccountFolder,
): Promise<Connection> {
  const { env } = options.process;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new ClientError(
      "NotInCluster",
      "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; pass a kubeconfig",
    );
  }
  const ca = await readFile(join(folder, "ca.crt"), "utf8").catch((cause: unknown) => {
    throw new ClientError(
      "NotInCluster",
      `the service account's ${join(folder, "ca.crt")} cannot be read: ${(cause as Error).message}; does the pod set automountServiceAccountToken: false?`,
      { cause },
    );
  });
  const token = new RotatingFile(join(folder, "token"), "service account's token", options.clock);
  const namespace = await readFile(join(folder, "namespace"), "utf8").catch(() => "");
  const address = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    namespace: env.POD_NAMESPACE || namespace.trim() || undefined,
    transport: {
      server: address,
      ca: rotating(join(folder, "ca.crt"), ca, options.clock),
      clock: options.clock,
      proxy: environmentProxy(parseServer(address), env),
      credentials: tokenCredentials(token),
    },
  };
}
