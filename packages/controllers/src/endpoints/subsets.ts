/** Endpoints of the older form: subsets of addresses that share their ports. */
import { compareBytes } from "@keelson/core/internal";
import type { EndpointAddress, EndpointPort, EndpointSubset } from "@keelson/core/kinds";
import { isPodReady, type PodObject } from "@keelson/workloads";
import { inSubsetOrder } from "./port-order.ts";
import {
  belongsInEndpoints,
  isHeadless,
  publishedHostname,
  type ServiceObject,
  targetPort,
} from "./service-pods.ts";

/** No object lists more addresses than this. */
const mostAddresses = 1000;

interface Address {
  readonly address: EndpointAddress;
  readonly isReady: boolean;
  readonly ports: EndpointPort[];
}

function addressOf(service: ServiceObject, pod: PodObject): string | undefined {
  const wantsV6 = service.spec.ipFamilies?.[0] === "IPv6";
  const all = pod.status?.podIPs?.map(({ ip }) => ip ?? "") ?? [pod.status?.podIP ?? ""];
  return all.find((ip) => ip !== "" && ip.includes(":") === wantsV6);
}

function portsOf(service: ServiceObject, pod: PodObject): EndpointPort[] {
  return (service.spec.ports ?? []).flatMap((port) => {
    const number = targetPort(pod, port);
    if (number === undefined) return [];
    return {
      ...(port.name ? { name: port.name } : {}),
      port: number,
      protocol: port.protocol ?? "TCP",
      ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
    };
  });
}

/** The subsets of a service, in an order of their own so that equal ones compare equal. */
export function subsetsOf(service: ServiceObject, pods: readonly PodObject[]): EndpointSubset[] {
  const { publishNotReadyAddresses = false, ports: wanted = [] } = service.spec;
  const addresses = pods
    .filter((pod) => belongsInEndpoints(pod, publishNotReadyAddresses))
    .flatMap((pod): Address[] => {
      const ip = addressOf(service, pod);
      const ports = portsOf(service, pod);
      const isReachable = ports.length > 0 || (wanted.length === 0 && isHeadless(service));
      if (ip === undefined || !isReachable) return [];
      const hostname = publishedHostname(pod, service);
      const { name, namespace, uid } = pod.metadata;
      const address: EndpointAddress = {
        ip,
        ...(hostname === undefined ? {} : { hostname }),
        ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
        targetRef: { kind: "Pod", namespace, name, uid },
      };
      return [{ address, isReady: publishNotReadyAddresses || isPodReady(pod), ports }];
    });
  return repacked(addresses);
}

/** Each port with all addresses that have it, then those ports together that have the same addresses. */
function repacked(addresses: readonly Address[]): EndpointSubset[] {
  const byPort = new Map<string, { port: EndpointPort | undefined; addresses: Address[] }>();
  for (const address of addresses) {
    for (const port of address.ports.length > 0 ? address.ports : [undefined]) {
      const key = JSON.stringify(port ?? null);
      const known = byPort.get(key) ?? { port, addresses: [] };
      known.addresses.push(address);
      byPort.set(key, known);
    }
  }
  const groups = Map.groupBy(byPort.values(), (each) => keyOfAddresses(each.addresses));
  return [...groups.values()]
    .map((group) => {
      const ports = inSubsetOrder(group.flatMap(({ port }) => port ?? []));
      const members = group[0]?.addresses ?? [];
      const pick = (isReady: boolean) =>
        members
          .filter((each) => each.isReady === isReady)
          .map(({ address }) => address)
          .sort(byAddress);
      const ready = pick(true);
      const notReady = pick(false);
      return {
        ...(ready.length > 0 ? { addresses: ready } : {}),
        ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
        ...(ports.length > 0 ? { ports } : {}),
      };
    })
    .sort((a, b) => compareBytes(JSON.stringify(a.ports ?? []), JSON.stringify(b.ports ?? [])));
}

function keyOfAddresses(addresses: readonly Address[]): string {
  return addresses
    .map(({ address, isReady }) => `${address.ip} ${address.targetRef?.uid} ${isReady}`)
    .sort()
    .join();
}

function byAddress(a: EndpointAddress, b: EndpointAddress): number {
  return compareBytes(a.ip, b.ip) || compareBytes(a.targetRef?.uid ?? "", b.targetRef?.uid ?? "");
}

/** At most a thousand addresses, ready ones first; says whether some were left out. */
export function truncated(subsets: readonly EndpointSubset[]): {
  subsets: EndpointSubset[];
  isTruncated: boolean;
} {
  const count = (of: "addresses" | "notReadyAddresses") =>
    subsets.reduce((sum, subset) => sum + (subset[of]?.length ?? 0), 0);
  if (count("addresses") + count("notReadyAddresses") <= mostAddresses) {
    return { subsets: [...subsets], isTruncated: false };
  }
  let ready = mostAddresses;
  let notReady = Math.max(0, mostAddresses - count("addresses"));
  const cut = subsets.map(({ addresses = [], notReadyAddresses = [], ports }) => {
    const kept = addresses.slice(0, ready);
    const keptNotReady = notReadyAddresses.slice(0, notReady);
    ready -= kept.length;
    notReady -= keptNotReady.length;
    return {
      ...(kept.length > 0 ? { addresses: kept } : {}),
      ...(keptNotReady.length > 0 ? { notReadyAddresses: keptNotReady } : {}),
      ...(ports ? { ports } : {}),
    };
  });
  return { subsets: cut.filter((subset) => subset.addresses || subset.notReadyAddresses), isTruncated: true };
}
