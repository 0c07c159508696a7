/** What a name means in the cluster: services, headless services, pods and addresses. */
import { type DnsAnswer, type DnsRecord, type RecordData, recordType, responseCode } from "./dns-message.ts";
import type { Backend, ServiceRegistry, StoredService } from "./service-registry.ts";

export interface NameServer {
  readonly registry: ServiceRegistry;
  /** As `cluster.local`. */
  readonly domain: string;
}

const ttl = 5;
const maxAliases = 8;

type Found = { readonly records: readonly DnsRecord[]; readonly additional?: readonly DnsRecord[] };

/** Undefined for names that are none of the cluster's business. */
export function resolveName(server: NameServer, asked: string, type: number): DnsAnswer | undefined {
  const name = asked.toLowerCase().replace(/\.$/, "");
  const reverse = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\.in-addr\.arpa$/.exec(name);
  if (reverse !== null)
    return reverseAnswer(server, asked, `${reverse[4]}.${reverse[3]}.${reverse[2]}.${reverse[1]}`);
  if (name !== server.domain && !name.endsWith(`.${server.domain}`)) return undefined;
  const found = lookUp(server, name, asked, 0);
  const soa = authority(server.domain);
  if (found === undefined) return { code: responseCode.nameError, answers: [], authority: [soa] };
  const wanted = found.records.filter(
    ({ data }) => type === recordType.ANY || recordType[data.type] === type || data.type === "CNAME",
  );
  if (wanted.length === 0) return { code: responseCode.ok, answers: [], authority: [soa] };
  const additional = type === recordType.SRV ? found.additional : undefined;
  return { code: responseCode.ok, answers: wanted, ...(additional === undefined ? {} : { additional }) };
}

function lookUp(server: NameServer, name: string, asked: string, depth: number): Found | undefined {
  const { domain, registry } = server;
  if (name === domain) return { records: [] };
  const labels = name.slice(0, -domain.length - 1).split(".");
  const record = (data: RecordData): DnsRecord => ({ name: asked, ttl, data });
  if (labels.length === 1 && labels[0] === "dns-version")
    return { records: [record({ type: "TXT", text: "1.1.0" })] };
  if (labels.at(-1) === "pod") return podName(labels, record);
  if (labels.at(-1) !== "svc") return undefined;
  const [namespace = "", service = ""] = [labels.at(-2), labels.at(-3)];
  const namespaceExists = registry.services().some(({ metadata }) => metadata.namespace === namespace);
  if (labels.length <= 2) return labels.length === 1 || namespaceExists ? { records: [] } : undefined;
  const found = registry.service(namespace, service);
  if (found === undefined) return undefined;
  const base = `${service}.${namespace}.svc.${domain}`;
  const prefix = labels.slice(0, -3);
  if (found.spec?.type === "ExternalName") {
    return prefix.length === 0 ? externalName(server, found, record, depth) : undefined;
  }
  if (prefix.length === 0) return wholeService(server, found, base, record);
  const [port = "", protocol = ""] = prefix;
  if (prefix.length === 2 && port.startsWith("_") && protocol.startsWith("_")) {
    const records = serviceRecords(server, found, base).filter(
      (one) => one.port === port.slice(1) && one.protocol === protocol.slice(1),
    );
    if (records.length === 0) return undefined;
    return {
      records: records.map(({ data }) => record(data)),
      additional: records.flatMap((one) => one.additional),
    };
  }
  if (prefix.length !== 1 || found.spec?.clusterIP !== "None") return undefined;
  const matching = readyBackends(server, found).filter((backend) => endpointLabel(backend) === prefix[0]);
  if (matching.length === 0) return undefined;
  return { records: matching.map(({ address }) => record({ type: "A", address })) };
}

function wholeService(
  server: NameServer,
  service: StoredService,
  base: string,
  record: (data: RecordData) => DnsRecord,
): Found | undefined {
  const srv = serviceRecords(server, service, base);
  const address = service.spec?.clusterIP;
  const addresses =
    address === "None" || !address
      ? readyBackends(server, service).map((backend) => backend.address)
      : [address];
  // A headless service without endpoints has no name at all.
  if (addresses.length === 0) return undefined;
  return {
    records: [
      ...addresses.map((one) => record({ type: "A", address: one })),
      ...srv.map(({ data }) => record(data)),
    ],
    additional: srv.flatMap((one) => one.additional),
  };
}

/** One SRV record per port, and for headless services per endpoint. */
function serviceRecords(server: NameServer, service: StoredService, base: string) {
  const srv = (port: number, target: string): RecordData => ({
    type: "SRV",
    priority: 0,
    weight: 100,
    port,
    target,
  });
  const lower = (text: string | undefined) => (text ?? "").toLowerCase();
  const address = service.spec?.clusterIP;
  if (address !== "None" && address) {
    return (service.spec?.ports ?? []).map(({ name, port, protocol }) => ({
      port: lower(name),
      protocol: lower(protocol ?? "TCP"),
      data: srv(port, base),
      additional: [{ name: base, ttl, data: { type: "A" as const, address } }],
    }));
  }
  return readyBackends(server, service).flatMap((backend) =>
    backend.ports.map(({ name, port, protocol }) => {
      const target = `${endpointLabel(backend)}.${base}`;
      return {
        port: lower(name),
        protocol: lower(protocol),
        data: srv(port, target),
        additional: [{ name: target, ttl, data: { type: "A" as const, address: backend.address } }],
      };
    }),
  );
}

function externalName(
  server: NameServer,
  service: StoredService,
  record: (data: RecordData) => DnsRecord,
  depth: number,
): Found {
  const target = (service.spec?.externalName ?? "").toLowerCase().replace(/\.$/, "");
  const alias = record({ type: "CNAME", target });
  const inside = target.endsWith(`.${server.domain}`) && depth < maxAliases;
  const rest = inside ? lookUp(server, target, target, depth + 1) : undefined;
  return { records: [alias, ...(rest?.records ?? [])] };
}

/** `10-244-0-5.namespace.pod`: the address is in the name. */
function podName(labels: readonly string[], record: (data: RecordData) => DnsRecord): Found | undefined {
  if (labels.length !== 3) return labels.length < 3 ? { records: [] } : undefined;
  const address = (labels[0] ?? "").replaceAll("-", ".");
  const valid = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.test(address);
  return valid ? { records: [record({ type: "A", address })] } : undefined;
}

function reverseAnswer(server: NameServer, asked: string, address: string): DnsAnswer {
  const targets = server.registry.ownersOf(address).map(({ service, backend }) => {
    const base = `${service.metadata.name}.${service.metadata.namespace}.svc.${server.domain}`;
    return backend === undefined ? base : `${endpointLabel(backend)}.${base}`;
  });
  if (targets.length === 0)
    return { code: responseCode.nameError, answers: [], authority: [authority("in-addr.arpa")] };
  return {
    code: responseCode.ok,
    answers: [...new Set(targets)].map((target) => ({ name: asked, ttl, data: { type: "PTR", target } })),
  };
}

/** The pod's host name where it has one in the service's subdomain, else its address with dashes. */
function endpointLabel(backend: Backend): string {
  return backend.hostname?.toLowerCase() ?? backend.address.replaceAll(".", "-");
}

function readyBackends(server: NameServer, service: StoredService): Backend[] {
  const all = server.registry.backends(service.metadata.namespace ?? "", service.metadata.name);
  return service.spec?.publishNotReadyAddresses ? all : all.filter(({ ready }) => ready);
}

function authority(zone: string): DnsRecord {
  return { name: zone, ttl, data: { type: "SOA", zone, serial: 1, ttl } };
}
