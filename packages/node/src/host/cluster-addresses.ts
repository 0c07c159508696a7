/** The well-known addresses of a cluster, from what the cluster itself says. */
import type { ServiceRegistry } from "../network/service-registry.ts";

export interface ClusterAddresses {
  /** Of the service `kubernetes` in `default`. */
  readonly api: string;
  readonly dns: string;
  readonly serviceCidr: string;
}

export interface AddressHints {
  readonly serviceCidr?: string;
  readonly dnsAddress?: string;
}

const usualRange = "10.96.0.0/16";

/** Default: services are a /16 around the API server's address, and the name server is the tenth in it. */
export function clusterAddresses(
  registry: Pick<ServiceRegistry, "service">,
  hints: AddressHints,
): ClusterAddresses {
  const known = registry.service("default", "kubernetes")?.spec?.clusterIP;
  const [a, b] = (known ?? hints.serviceCidr ?? usualRange).split(".");
  const serviceCidr = hints.serviceCidr ?? `${a}.${b}.0.0/16`;
  const base = (known ?? serviceCidr).split(".").slice(0, 3).join(".");
  const dns = registry.service("kube-system", "kube-dns")?.spec?.clusterIP;
  return { api: known ?? `${base}.1`, dns: hints.dnsAddress ?? dns ?? `${base}.10`, serviceCidr };
}
