/** Where nodes, pods and services are reached. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, internalError, notFound, serviceUnavailable } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import type { Destination } from "./transport.ts";

const preferred = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/** The kubelet of a node, as the node's status says. A node that is not there is called what was `asked` for. */
export function kubeletOf(store: StoreReader, nodeName: string, asked: "nodes" | "pods"): Destination {
  const node = store.get({ group: "", resource: "nodes" }, "", nodeName);
  if (!node) throw notFound({ group: "", resource: asked }, nodeName);
  const status = (node.status ?? {}) as JsonObject;
  const addresses = (status.addresses as { type: string; address: string }[] | undefined) ?? [];
  // An address comes before a name: names of nodes resolve nowhere but inside their cluster.
  const found =
    addresses.find(({ type }) => type === "InternalIP") ??
    preferred.flatMap((type) => addresses.filter((address) => address.type === type))[0];
  if (!found) throw internalError(`no preferred addresses found; known addresses: []`);
  const endpoints = status.daemonEndpoints as { kubeletEndpoint?: { Port?: number } } | undefined;
  return { scheme: "https", host: found.address, port: endpoints?.kubeletEndpoint?.Port ?? 10250 };
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
  if (!podIP) throw badRequest("address not allowed");
  return { scheme, host: podIP, port: port ? portNumber(port) : firstPort(pod) };
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

/** One of the service's ready endpoints. */
export function serviceDestination(
  store: StoreReader,
  namespace: string,
  text: string,
  pick: (count: number) => number,
): Destination {
  const { scheme, name, port } = parseProxyName(text);
  const service = store.get({ group: "", resource: "services" }, namespace, name);
  if (!service) throw notFound({ group: "", resource: "services" }, name);
  const wanted = servicePort(service, port);
  const addresses = readyAddresses(store, namespace, name, wanted);
  const chosen = addresses[pick(addresses.length)];
  if (!chosen) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(text)}`);
  return { scheme, ...chosen };
}

/** The name of the port, empty for the only one. */
function servicePort(service: ApiObject, port: string): string {
  const ports =
    ((service.spec as JsonObject | undefined)?.ports as { name?: string; port?: number }[] | undefined) ?? [];
  if (port === "") return ports[0]?.name ?? "";
  const found = ports.find((entry) => entry.name === port || String(entry.port) === port);
  if (!found) throw serviceUnavailable(`no service port ${JSON.stringify(port)} found for service`);
  return found.name ?? "";
}

function readyAddresses(store: StoreReader, namespace: string, service: string, port: string) {
  const out: { host: string; port: number }[] = [];
  for (const slice of store.list({ group: "discovery.k8s.io", resource: "endpointslices" }, namespace)) {
    if (slice.metadata.labels?.["kubernetes.io/service-name"] !== service) continue;
    const ports = (slice.ports as { name?: string; port?: number }[] | null | undefined) ?? [];
    const found = ports.find((entry) => (entry.name ?? "") === port);
    if (!found?.port) continue;
    const endpoints =
      (slice.endpoints as { addresses: string[]; conditions?: { ready?: boolean } }[] | null | undefined) ??
      [];
    for (const { addresses, conditions } of endpoints)
      if (conditions?.ready !== false && addresses[0]) out.push({ host: addresses[0], port: found.port });
  }
  return out;
}
