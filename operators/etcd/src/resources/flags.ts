/** etcd's command line, and how a member starts. */
import type { Recipe } from "../api/cluster.ts";
import { compatibilityFlags, corruptionFlags } from "../engine/version.ts";
import { type ClusterName, clientPort, clientUrl, metricsPort, peerPort, peerUrl } from "./names.ts";

export const dataVolumePath = "/var/lib/etcd";

/** Where certificates are mounted. */
export const tlsPaths = { peer: "/etc/etcd/tls/peer", client: "/etc/etcd/tls/client" } as const;

/**
 * How a member starts. It is read at every start of the container, not fixed in the pod, because a container that
 * restarts over an empty volume must never start as it did the first time.
 *
 * - `seed`: forms a new cluster of itself. Only ever for the first member, before the cluster has an id.
 * - `join`: a learner's first start; `members` is etcd's list as of its addition.
 * - `again`: a member that has data. Over an empty volume it refuses to start, since no other member is named.
 * - `force`: the survivor of a lost quorum drops all other members.
 */
export type StartMode =
  | { readonly mode: "seed" | "again" | "force" }
  | { readonly mode: "join"; readonly members: Readonly<Record<string, string>> };

export interface StartSettings {
  readonly initialCluster: string;
  readonly initialClusterState: "new" | "existing";
  readonly forceNewCluster: "true" | "false";
}

export function startSettings(cluster: ClusterName, member: string, start: StartMode): StartSettings {
  const everyone = start.mode === "join" ? start.members : { [member]: peerUrl(cluster, member) };
  const pairs = Object.entries(everyone).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    initialCluster: pairs.map(([name, url]) => `${name}=${url}`).join(","),
    initialClusterState: start.mode === "seed" ? "new" : "existing",
    forceNewCluster: start.mode === "force" ? "true" : "false",
  };
}

export function etcdCommand(cluster: ClusterName, member: string, recipe: Recipe): string[] {
  const { version, quotaBytes } = recipe;
  return [
    "/usr/local/bin/etcd",
    `--name=${member}`,
    `--data-dir=${dataVolumePath}/data`,
    `--initial-cluster-token=${cluster.namespace}-${cluster.name}-${cluster.uid}`,
    `--listen-peer-urls=${cluster.secure?.peer ? "https" : "http"}://0.0.0.0:${peerPort}`,
    `--initial-advertise-peer-urls=${peerUrl(cluster, member)}`,
    `--listen-client-urls=${cluster.secure?.client ? "https" : "http"}://0.0.0.0:${clientPort}`,
    `--advertise-client-urls=${clientUrl(cluster, member)}`,
    `--listen-metrics-urls=http://0.0.0.0:${metricsPort}`,
    ...(cluster.secure?.peer ? tlsFlags("peer-", tlsPaths.peer) : []),
    ...(cluster.secure?.client ? tlsFlags("", tlsPaths.client) : []),
    ...compatibilityFlags(version),
    ...corruptionFlags(version),
    ...(quotaBytes === undefined ? [] : [`--quota-backend-bytes=${quotaBytes}`]),
    ...settingFlags(recipe),
  ];
}

/** Both sides present certificates. etcd reads its own for every connection, its authorities only when it starts. */
function tlsFlags(prefix: string, path: string): string[] {
  return [
    `--${prefix}cert-file=${path}/tls.crt`,
    `--${prefix}key-file=${path}/tls.key`,
    `--${prefix}trusted-ca-file=${path}/ca.crt`,
    `--${prefix}client-cert-auth=true`,
  ];
}

function settingFlags({ settings = {} }: Recipe): string[] {
  const flags: Record<string, unknown> = {
    "heartbeat-interval": settings["heartbeatIntervalMs"],
    "election-timeout": settings["electionTimeoutMs"],
    "snapshot-count": settings["snapshotCount"],
    "auto-compaction-mode": settings["autoCompactionMode"],
    "auto-compaction-retention": settings["autoCompactionRetention"],
    "max-request-bytes": settings["maxRequestBytes"],
    "log-level": settings["logLevel"],
  };
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  );
}
