/** Names of members, ports and addresses. */
import { controllerLabel, keyLabel, ownerLabel, slotLabel } from "keelson";
import { EtcdCluster, type EtcdClusterObject } from "../api/cluster.ts";
import { labels } from "../api/names.ts";

export const clientPort = 2379;
export const peerPort = 2380;
export const metricsPort = 2381;
/** The user of the etcd image and of the agent; the same as in distroless images. */
export const nonRoot = 65532;

/** What names are made from. */
export interface ClusterName {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Which connections use TLS; fixed for the life of a cluster. */
  readonly secure?: { readonly peer: boolean; readonly client: boolean };
}

export function clusterName(cluster: EtcdClusterObject): ClusterName {
  const { name, namespace = "default", uid } = cluster.metadata;
  const { peer, client } = cluster.spec.tls ?? {};
  return { name, namespace, uid, secure: { peer: peer !== undefined, client: client !== undefined } };
}

/** Members are numbered. A number is used again only while its certificate is all that there is, see `newcomer`. */
export function memberName(cluster: ClusterName, ordinal: number): string {
  return `${cluster.name}-${ordinal}`;
}

/** The key of a member's pod and claim in their slots. */
export function memberKey(cluster: ClusterName, member: string): string {
  return member.slice(cluster.name.length + 1);
}

export function ordinalOf(cluster: ClusterName, member: string): number | undefined {
  const key = member.startsWith(`${cluster.name}-`) ? memberKey(cluster, member) : "";
  return /^(0|[1-9][0-9]*)$/.test(key) ? Number(key) : undefined;
}

/** The pod that tries a template before any member gets it. */
export function trialName(cluster: ClusterName, template: string): string {
  return `${cluster.name}-trial-${template}`;
}

/** The name that a member's pod has in the cluster's DNS, through the headless service. */
export function memberHost(cluster: ClusterName, member: string): string {
  return `${member}.${cluster.name}.${cluster.namespace}.svc`;
}

export function peerScheme({ secure }: ClusterName): "http" | "https" {
  return secure?.peer ? "https" : "http";
}

export function peerUrl(cluster: ClusterName, member: string): string {
  return `${peerScheme(cluster)}://${memberHost(cluster, member)}:${peerPort}`;
}

export function clientUrl(cluster: ClusterName, member: string): string {
  return `${cluster.secure?.client ? "https" : "http"}://${memberHost(cluster, member)}:${clientPort}`;
}

/** The member that a peer URL belongs to, when it is one that this cluster could have made. */
export function memberOfPeerUrl(cluster: ClusterName, url: string): string | undefined {
  const host = /^https?:\/\/([^:/]+)/.exec(url)?.[1] ?? "";
  const [member = ""] = host.split(".");
  const ours = ordinalOf(cluster, member) !== undefined && host === memberHost(cluster, member);
  return ours ? member : undefined;
}

export function selectorLabels(cluster: ClusterName): Record<string, string> {
  return { [labels.name]: "etcd", [labels.instance]: cluster.name };
}

/** What the pod of a member is found by; people may change it. */
export function memberLabels(cluster: ClusterName, member: string): Record<string, string> {
  return { ...selectorLabels(cluster), [keyLabel]: memberKey(cluster, member) };
}

/**
 * All labels of a member's claim. A claim that outlived its cluster is in no inventory: the runtime does not put back what
 * someone changed on it.
 */
export function claimLabels(cluster: ClusterName, member: string): Record<string, string> {
  return {
    ...memberLabels(cluster, member),
    [controllerLabel]: EtcdCluster.kind.toLowerCase(),
    [slotLabel]: "claims",
    [ownerLabel]: cluster.name,
  };
}

export function voterLabels(cluster: ClusterName): Record<string, string> {
  return { ...selectorLabels(cluster), [labels.role]: "voter" };
}
