/** Names of the Secrets with certificates, and the names in each certificate. */
import type { Spec } from "../api/cluster.ts";
import { type ClusterName, memberHost, memberKey } from "./names.ts";

/** Members among themselves, and clients with members: each has an authority of its own. */
export type TlsUse = "peer" | "client";

export type TlsSpec = NonNullable<NonNullable<Spec["tls"]>[TlsUse]>;

export function authorityName(cluster: string, use: TlsUse): string {
  return `${cluster}-${use}-ca`;
}

/** Authority, certificate and key for clients of the cluster, the operator and its agents among them. */
export function clientSecretName(cluster: string, tls: TlsSpec): string {
  return tls.mode === "Secret" && tls.secretName ? tls.secretName : `${cluster}-client-tls`;
}

/** The Secret that a member's pod mounts. */
export function memberSecretName(member: string, use: TlsUse, given: string | undefined): string {
  return given ?? `${member}-${use === "peer" ? "peer" : "server"}-tls`;
}

/** The key of a member's Secret in its slot. */
export function memberSecretKey(cluster: ClusterName, member: string, use: TlsUse): string {
  return `${use === "peer" ? "peer" : "server"}-${memberKey(cluster, member)}`;
}

/**
 * etcd looks a peer up by these names and wants its address among the answers, so they are whole names and no
 * wildcards. Clients may come by the member's name, by a service, or by loopback.
 */
export function namesFor(
  cluster: ClusterName,
  member: string,
  use: TlsUse,
  more: readonly string[],
): string[] {
  const host = memberHost(cluster, member);
  const own = [host, `${host}.cluster.local`];
  if (use === "peer") return [...own, ...more];
  const { name, namespace } = cluster;
  const services = [name, `${name}-client`].flatMap((service) => [
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
  ]);
  return [...own, ...services, "localhost", "127.0.0.1", "::1", ...more];
}
