/** The files every pod gets from its node: hosts and resolv.conf. */
import type { Pod } from "@keelson/core/kinds";

export interface ClusterDns {
  readonly address: string;
  /** As `cluster.local`. */
  readonly domain: string;
}

/** `hostname.subdomain.namespace.svc.domain`, when the pod has a subdomain. */
export function podHostname(pod: Pod, domain: string): { hostname: string; fqdn: string | undefined } {
  const { hostname, subdomain, hostnameOverride } = pod.spec ?? {};
  if (hostnameOverride) return { hostname: hostnameOverride, fqdn: undefined };
  const short = (hostname || (pod.metadata?.name ?? "")).slice(0, 63).replace(/[-.]+$/, "");
  const fqdn = subdomain ? `${short}.${subdomain}.${pod.metadata?.namespace}.svc.${domain}` : undefined;
  return { hostname: pod.spec?.setHostnameAsFQDN && fqdn ? fqdn : short, fqdn };
}

/** A pod on the node's network also has the node's own names, which are `nodeHosts`. */
export function hostsFile(pod: Pod, address: string, domain: string, nodeHosts: string): string {
  if (pod.spec?.hostNetwork)
    return [
      "# Kubernetes-managed hosts file (host network).",
      nodeHosts.trimEnd(),
      ...aliasesOf(pod),
      "",
    ].join("\n");
  const { hostname, fqdn } = podHostname(pod, domain);
  const names = fqdn === undefined || fqdn === hostname ? hostname : `${fqdn}\t${hostname}`;
  return [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    `${address}\t${names}`,
    ...aliasesOf(pod),
    "",
  ].join("\n");
}

function aliasesOf(pod: Pod): string[] {
  const aliases = pod.spec?.hostAliases ?? [];
  if (aliases.length === 0) return [];
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join("\t")}`);
  return ["", "# Entries added by HostAliases.", ...lines];
}

export function resolvFile(pod: Pod, dns: ClusterDns): string {
  const policy = pod.spec?.dnsPolicy ?? "ClusterFirst";
  const config = pod.spec?.dnsConfig ?? {};
  const namespace = pod.metadata?.namespace ?? "default";
  // There is no network beyond the cluster's own, so the machine's name servers could not be reached anyway.
  const cluster = policy !== "None";
  const inCluster =
    policy === "ClusterFirstWithHostNet" || (policy === "ClusterFirst" && !pod.spec?.hostNetwork);
  const servers = [...(cluster ? [dns.address] : []), ...(config.nameservers ?? [])];
  const searches = [
    ...(inCluster ? [`${namespace}.svc.${dns.domain}`, `svc.${dns.domain}`, dns.domain] : []),
    ...(config.searches ?? []),
  ];
  const options = new Map<string, string | undefined>(inCluster ? [["ndots", "5"]] : []);
  for (const { name, value } of config.options ?? []) if (name) options.set(name, value);
  const words = [...options].map(([name, value]) => (value === undefined ? name : `${name}:${value}`));
  return [
    ...(searches.length > 0 ? [`search ${[...new Set(searches)].join(" ")}`] : []),
    ...[...new Set(servers)].map((server) => `nameserver ${server}`),
    ...(words.length > 0 ? [`options ${words.join(" ")}`] : []),
    "",
  ].join("\n");
}
