/** Which endpoint slices a service should have, with as few writes as possible. */
import { deepEqual, type InputOf, type ObjectOf } from "@keelson/core";
import { type discoveryV1, type EndpointSlice, Service } from "@keelson/core/kinds";
import { isPodReady, type PodObject } from "@keelson/workloads";
import { omitEmpty } from "../acting/omit-empty.ts";
import { controllerReference, isControlledBy } from "../ownership/owner-reference.ts";
import { podNamePrefix } from "../pods/pod-from-template.ts";
import { inOrder } from "./port-order.ts";
import {
  belongsInEndpoints,
  headlessLabel,
  isHeadless,
  publishedHostname,
  type ServiceObject,
  targetPort,
} from "./service-pods.ts";

export type SliceObject = ObjectOf<typeof EndpointSlice>;
export type NewSlice = InputOf<typeof EndpointSlice> & { metadata: { labels: Record<string, string> } };
type Endpoint = discoveryV1.Endpoint;
type Port = discoveryV1.EndpointPort;

export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const serviceNameLabel = "kubernetes.io/service-name";
export const controllerName = "endpointslice-controller.k8s.io";

const mostEndpoints = 100;
const zoneLabel = "topology.kubernetes.io/zone";

type AddressType = "IPv4" | "IPv6";

export interface SliceChanges {
  readonly create: readonly NewSlice[];
  readonly update: readonly SliceObject[];
  readonly remove: readonly SliceObject[];
}

/** A node as far as endpoints need it; undefined when it does not exist. */
export type FindNode = (name: string) => { metadata: { labels?: Record<string, string> } } | undefined;

interface Group {
  readonly ports: Port[];
  /** By address and pod; what is put into a slice is taken out. */
  readonly endpoints: Map<string, Endpoint>;
}

export function addressTypes({ spec }: ServiceObject): AddressType[] {
  return spec.ipFamilies && spec.ipFamilies.length > 0 ? (spec.ipFamilies as AddressType[]) : ["IPv4"];
}

/** Pods whose node does not exist are left out, unless the service publishes whatever there is. */
export function isOnMissingNode(pod: PodObject, service: ServiceObject, findNode: FindNode): boolean {
  return !service.spec.publishNotReadyAddresses && findNode(pod.spec.nodeName ?? "") === undefined;
}

export function sliceChanges(
  service: ServiceObject,
  pods: readonly PodObject[],
  existing: readonly SliceObject[],
  findNode: FindNode,
): SliceChanges {
  const types = addressTypes(service);
  const remove = existing.filter(({ addressType }) => !types.includes(addressType as AddressType));
  const changes = types.map((type) =>
    changesOfType(
      service,
      type,
      desiredGroups(service, type, pods, findNode),
      existing.filter(({ addressType }) => addressType === type),
    ),
  );
  return {
    create: changes.flatMap(({ create }) => create),
    update: changes.flatMap(({ update }) => update),
    remove: [...remove, ...changes.flatMap((change) => change.remove)],
  };
}

function desiredGroups(
  service: ServiceObject,
  type: AddressType,
  pods: readonly PodObject[],
  findNode: FindNode,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const pod of pods) {
    if (!belongsInEndpoints(pod, true)) continue;
    const ports = slicePorts(service, pod);
    const key = portKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map() };
    groups.set(key, group);
    if (isOnMissingNode(pod, service, findNode)) continue;
    const endpoint = endpointOf(pod, service, type, findNode);
    if (endpoint.addresses.length > 0) group.endpoints.set(endpointKey(endpoint), endpoint);
  }
  return groups;
}

function changesOfType(
  service: ServiceObject,
  type: AddressType,
  desired: Map<string, Group>,
  existing: readonly SliceObject[],
): SliceChanges {
  const create: NewSlice[] = [];
  const update: SliceObject[] = [];
  const remove: SliceObject[] = existing.filter((slice) => !isControlledBy(slice, service));
  const ours = Map.groupBy(
    existing.filter((slice) => isControlledBy(slice, service)),
    ({ ports }) => portKey(ports ?? []),
  );
  for (const [key, group] of desired) {
    const changes = changesOfGroup(service, type, group, ours.get(key) ?? []);
    create.push(...changes.create);
    update.push(...changes.update);
    remove.push(...changes.remove);
  }
  for (const [key, slices] of ours) if (!desired.has(key)) remove.push(...slices);
  if (remove.length === existing.length && create.length === 0) {
    // An empty slice says that the service is known and has no endpoints.
    const placeholder = newSlice(service, type, [], []);
    const [only] = remove;
    if (remove.length === 1 && only && isPlaceholder(only, placeholder)) remove.pop();
    else create.push(placeholder);
  }
  return recycled(service, { create, update, remove });
}

/** Slices to be removed become those to be made, under their old names. */
function recycled(service: ServiceObject, changes: SliceChanges): SliceChanges {
  const create = [...changes.create];
  const update = [...changes.update];
  const remove: SliceObject[] = [];
  for (const old of changes.remove) {
    const next = isControlledBy(old, service) ? create.pop() : undefined;
    if (next)
      update.push({
        ...old,
        ...next,
        metadata: { ...old.metadata, labels: next.metadata.labels },
      } as SliceObject);
    else remove.push(old);
  }
  return { create, update, remove };
}

function changesOfGroup(
  service: ServiceObject,
  type: AddressType,
  { ports, endpoints: left }: Group,
  existing: readonly SliceObject[],
): SliceChanges {
  const update: SliceObject[] = [];
  const remove: SliceObject[] = [];
  const unchanged: SliceObject[] = [];
  for (const slice of existing) {
    const before = slice.endpoints ?? [];
    const kept: Endpoint[] = [];
    let isChanged = false;
    for (const endpoint of before) {
      const key = endpointKey(endpoint);
      const now = left.get(key);
      if (!now) continue;
      left.delete(key);
      kept.push(now);
      isChanged ||= !deepEqual(now, endpoint);
    }
    const labels = sliceLabels(service);
    const isLabelled = deepEqual(labels, slice.metadata.labels ?? {});
    if (kept.length === 0 && before.length > 0) remove.push(slice);
    else if (isChanged || kept.length !== before.length || !isLabelled) {
      update.push({ ...slice, metadata: { ...slice.metadata, labels }, endpoints: kept });
    } else unchanged.push(slice);
  }
  const queue = [...left.values()];
  const filled = update
    .toSorted((a, b) => (b.endpoints ?? []).length - (a.endpoints ?? []).length)
    .map((slice) => topUp(slice, queue));
  const create: NewSlice[] = [];
  while (queue.length > 0) {
    const room = queue.length < mostEndpoints ? fullestWithRoom(unchanged, queue.length) : undefined;
    if (room) {
      unchanged.splice(unchanged.indexOf(room), 1);
      filled.push(topUp(room, queue));
    } else {
      create.push(newSlice(service, type, ports, queue.splice(0, mostEndpoints)));
    }
  }
  return { create, update: filled, remove };
}

function topUp(slice: SliceObject, queue: Endpoint[]): SliceObject {
  const more = queue.splice(0, Math.max(0, mostEndpoints - (slice.endpoints ?? []).length));
  return { ...slice, endpoints: [...(slice.endpoints ?? []), ...more] };
}

function fullestWithRoom(slices: readonly SliceObject[], count: number): SliceObject | undefined {
  return slices
    .filter(({ endpoints }) => (endpoints ?? []).length + count <= mostEndpoints)
    .toSorted((a, b) => (b.endpoints ?? []).length - (a.endpoints ?? []).length)[0];
}

function newSlice(service: ServiceObject, type: AddressType, ports: Port[], endpoints: Endpoint[]): NewSlice {
  return {
    metadata: {
      generateName: podNamePrefix(service.metadata.name),
      namespace: service.metadata.namespace,
      labels: sliceLabels(service),
      ownerReferences: [controllerReference(service, Service)],
    },
    addressType: type,
    ports,
    endpoints,
  };
}

function isPlaceholder(slice: SliceObject, placeholder: NewSlice): boolean {
  return (
    (slice.endpoints ?? []).length === 0 &&
    (slice.ports ?? []).length === 0 &&
    deepEqual(slice.metadata.labels ?? {}, placeholder.metadata.labels)
  );
}

export function sliceLabels(service: ServiceObject): Record<string, string> {
  const reserved = new Set([headlessLabel, serviceNameLabel, managedByLabel]);
  const labels = Object.entries(service.metadata.labels ?? {}).filter(([key]) => !reserved.has(key));
  return {
    ...Object.fromEntries(labels),
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: controllerName,
  };
}

function slicePorts(service: ServiceObject, pod: PodObject): Port[] {
  const ports = (service.spec.ports ?? []).flatMap((port): Port[] => {
    const number = targetPort(pod, port);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
  return inOrder(ports);
}

function portKey(ports: readonly Port[]): string {
  return ports
    .map(
      ({ name = "", port = 0, protocol = "TCP", appProtocol = "" }) =>
        `${name}|${port}|${protocol}|${appProtocol}`,
    )
    .sort()
    .join(",");
}

function endpointKey({ addresses, targetRef }: Endpoint): string {
  return `${addresses.toSorted().join(",")}|${targetRef?.kind}/${targetRef?.namespace}/${targetRef?.name}/${targetRef?.uid}`;
}

function endpointOf(pod: PodObject, service: ServiceObject, type: AddressType, findNode: FindNode): Endpoint {
  const serving = isPodReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ips = pod.status?.podIPs?.map(({ ip }) => ip ?? "") ?? [pod.status?.podIP ?? ""];
  const { name, namespace, uid } = pod.metadata;
  return {
    addresses: ips.filter((ip) => ip !== "" && ip.includes(":") === (type === "IPv6")),
    conditions: {
      // A pod on its way out is never ready, unless the service wants whatever there is.
      ready: service.spec.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    ...omitEmpty({
      hostname: publishedHostname(pod, service),
      nodeName: pod.spec.nodeName,
      zone: findNode(pod.spec.nodeName ?? "")?.metadata.labels?.[zoneLabel],
    }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}
