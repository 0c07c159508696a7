/** Where nodes, pods and services are reached. */
import type { JsonObject } from "@keelson/core";
import type { EndpointSlice } from "@keelson/core/kinds";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, internalError, notFound, serviceUnavailable } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { isGlobalUnicast, parseAddress } from "../validation/checks/addresses.ts";
import type { Destination } from "./transport.ts";

/** A node's own name comes last: it resolves nowhere but inside its cluster. */
const preferred = ["InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP", "Hostname"];

/** The kubelet of a node, as the node's status says. A node that is not there is called what was `asked` for. */
export function kubeletOf(store: StoreReader, nodeName: string, asked: "nodes" | "pods"): Destination {
  const { addresses, status } = nodeStatus(store, nodeName, asked);
  const found = preferred.flatMap((type) => addresses.filter((address) => address.type === type))[0];
  if (!found) throw internalError(`no preferred addresses found; known addresses: []`);
  const endpoints = status.daemonEndpoints as { kubeletEndpoint?: { Port?: number } } | undefined;
  return {
    of: "kubelet",
    scheme: "https",
    host: found.address,
    port: endpoints?.kubeletEndpoint?.Port ?? 10250,
  };
}

function nodeStatus(store: StoreReader, nodeName: string, asked: "nodes" | "pods") {
  const node = store.get({ group: "", resource: "nodes" }, "", nodeName);
  if (!node) throw notFound({ group: "", resource: asked }, nodeName);
  const status = (node.status ?? {}) as JsonObject;
  return { status, addresses: (status.addresses as { type: string; address: string }[] | undefined) ?? [] };
}

/** The kubelet, or with a port of its own whatever else listens on the node: to that the server is nobody. */
export function nodeDestination(store: StoreReader, text: string): Destination {
  const { scheme, name, port } = parseProxyName(text);
  const kubelet = kubeletOf(store, name, "nodes");
  if (port === "" || portNumber(port) === kubelet.port) return kubelet;
  const { addresses } = nodeStatus(store, name, "nodes");
  const address = addresses.find(({ type }) => type === "InternalIP")?.address ?? kubelet.host;
  return { of: "pod", scheme, host: allowed(address), port: portNumber(port) };
}

/** Throws 400 for an address that is nobody's but the server's own machine or link. */
function allowed(host: string): string {
  const address = parseAddress(host);
  if (!address || !isGlobalUnicast(address)) throw badRequest("address not allowed");
  return host;
}

interface ProxyName {
  readonly scheme: "http" | "https";
  readonly name: string;
  readonly port: string;
}

/** `https:name:port`, each part but the name optional. */
export function parseProxyName(text: string): ProxyName {
  const parts = text.split(":");
  if (parts.length > 3) throw badRequest(`invalid name ${JSON.stringify(text)}`);
  if (parts.length === 3) {
    const [scheme, name = "", port = ""] = parts;
    if (scheme !== "" && scheme !== "http" && scheme !== "https")
      throw badRequest(`invalid scheme ${JSON.stringify(scheme)}`);
    return { scheme: scheme === "https" ? "https" : "http", name, port };
  }
  const [name = "", port = ""] = parts;
  return { scheme: "http", name, port };
}

export function podDestination(store: StoreReader, namespace: string, text: string): Destination {
  const { scheme, name, port } = parseProxyName(text);
  const pod = store.get({ group: "", resource: "pods" }, namespace, name);
  if (!pod) throw notFound({ group: "", resource: "pods" }, name);
  const { podIP } = (pod.status ?? {}) as { podIP?: string };
  return { of: "pod", scheme, host: allowed(podIP ?? ""), port: port ? portNumber(port) : firstPort(pod) };
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw badRequest(`invalid port ${JSON.stringify(text)}`);
  return port;
}

function firstPort(pod: ApiObject): number {
  const containers = ((pod.spec as JsonObject | undefined)?.containers as JsonObject[] | undefined) ?? [];
  for (const container of containers) {
    const [port] = (container.ports as { containerPort?: number }[] | undefined) ?? [];
    if (port?.containerPort) return port.containerPort;
  }
  return 80;
}

export interface EndpointChoice {
  /**
   * Only pods of the service's namespace count where any user may ask: a user who may write endpoints may not have the
   * server send requests elsewhere.
   */
  readonly podsOnly: boolean;
  readonly pick: (count: number) => number;
}

/** One of the service's ready endpoints. */
export function serviceDestination(
  store: StoreReader,
  namespace: string,
  text: string,
  { podsOnly, pick }: EndpointChoice,
): Destination {
  const { scheme, name, port } = parseProxyName(text);
  const service = store.get({ group: "", resource: "services" }, namespace, name);
  if (!service) throw notFound({ group: "", resource: "services" }, name);
  const wanted = servicePort(service, port);
  const endpoints = readyEndpoints(store, namespace, name, wanted).filter(
    (endpoint) => !podsOnly || isPod(store, namespace, endpoint),
  );
  const chosen = endpoints[pick(endpoints.length)];
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(text)}`);
  return { of: "pod", scheme, host: allowed(chosen.host), port: chosen.port };
}

/** The name of the port, which a number stands for; empty for a port without a name. */
function servicePort(service: ApiObject, port: string): string {
  if (!/^\d+$/.test(port)) return port;
  const { ports = [] } = (service.spec ?? {}) as { ports?: { name?: string; port?: number }[] };
  const found = ports.find((entry) => entry.port === Number(port));
  if (!found)
    throw serviceUnavailable(
      `no service port ${Number(port)} found for service ${JSON.stringify(service.metadata.name)}`,
    );
  return found.name ?? "";
}

interface ReadyEndpoint {
  readonly host: string;
  readonly port: number;
  readonly targetRef?: { readonly kind?: string; readonly namespace?: string; readonly name?: string };
}

function readyEndpoints(
  store: StoreReader,
  namespace: string,
  service: string,
  port: string,
): ReadyEndpoint[] {
  const out: ReadyEndpoint[] = [];
  for (const slice of store.list({ group: "discovery.k8s.io", resource: "endpointslices" }, namespace)) {
    if (slice.metadata.labels?.["kubernetes.io/service-name"] !== service) continue;
    const { ports, endpoints } = slice as unknown as EndpointSlice;
    const found = ports?.find((entry) => (entry.name ?? "") === port);
    if (!found?.port) continue;
    for (const { addresses, conditions, targetRef } of endpoints ?? [])
      if (conditions?.ready !== false && addresses[0])
        out.push({ host: addresses[0], port: found.port, ...(targetRef && { targetRef }) });
  }
  return out;
}

function isPod(store: StoreReader, namespace: string, { host, targetRef }: ReadyEndpoint): boolean {
  if (targetRef?.kind !== "Pod" || targetRef.namespace !== namespace) return false;
  const pod = store.get({ group: "", resource: "pods" }, namespace, targetRef.name ?? "");
  const { podIPs } = (pod?.status ?? {}) as { podIPs?: { ip?: string }[] };
  return podIPs?.some(({ ip }) => ip === host) ?? false;
}
