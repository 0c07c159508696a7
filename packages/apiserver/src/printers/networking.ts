/** Services and what leads to them. */
import type {
  EndpointSlice,
  Endpoints,
  Ingress,
  IngressClass,
  IPAddress,
  NetworkPolicy,
  Service,
  ServiceCIDR,
} from "@keelson/core/kinds";
import { ageCell, type Cell, firstThree, labelsCell, nameOf, none, selectorCell, unset } from "./cells.ts";

function balancerAddresses(ingress: readonly { ip?: string; hostname?: string }[] | undefined): string {
  const found = new Set((ingress ?? []).map(({ ip, hostname }) => ip || hostname || "").filter(Boolean));
  return [...found].sort().join(",");
}

function externalCell({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? [];
  switch (spec?.type) {
    case "ClusterIP":
    case "NodePort":
      return external.length > 0 ? external.join(",") : none;
    case "LoadBalancer": {
      const balanced = balancerAddresses(status?.loadBalancer?.ingress);
      const all = [...(balanced ? [balanced] : []), ...external];
      return all.length > 0 ? all.join(",") : "<pending>";
    }
    case "ExternalName":
      return spec.externalName ?? "";
    default:
      return "<unknown>";
  }
}

export const serviceRow = (service: Service, nowMs: number): Cell[] => {
  const { spec } = service;
  const ports = (spec?.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return [
    nameOf(service),
    spec?.type ?? "",
    spec?.clusterIPs?.[0] ?? none,
    externalCell(service),
    ports.join(",") || none,
    ageCell(service, nowMs),
    labelsCell(spec?.selector),
  ];
};

export const endpointsRow = (endpoints: Endpoints, nowMs: number): Cell[] => {
  const subsets = endpoints.subsets ?? [];
  const list = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
  return [nameOf(endpoints), subsets.length === 0 ? none : firstThree(list, ""), ageCell(endpoints, nowMs)];
};

export const endpointSliceRow = (slice: EndpointSlice, nowMs: number): Cell[] => [
  nameOf(slice),
  slice.addressType,
  firstThree(
    (slice.ports ?? []).map(({ port, name }) => (port !== undefined ? String(port) : (name ?? "*"))),
    unset,
  ),
  firstThree(
    (slice.endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
    unset,
  ),
  ageCell(slice, nowMs),
];

function hostsCell({ spec }: Ingress): string {
  const rules = spec?.rules ?? [];
  const hosts: string[] = [];
  let more = false;
  for (const { host } of rules) {
    if (hosts.length === 3) more = true;
    if (!more && host) hosts.push(host);
  }
  if (hosts.length === 0) return "*";
  return more ? `${hosts.join(",")} + ${rules.length - 3} more...` : hosts.join(",");
}

export const ingressRow = (ingress: Ingress, nowMs: number): Cell[] => [
  nameOf(ingress),
  ingress.spec?.ingressClassName ?? none,
  hostsCell(ingress),
  balancerAddresses(ingress.status?.loadBalancer?.ingress),
  ingress.spec?.tls?.length ? "80, 443" : "80",
  ageCell(ingress, nowMs),
];

export const ingressClassRow = (object: IngressClass, nowMs: number): Cell[] => {
  const isDefault = object.metadata?.annotations?.["ingressclass.kubernetes.io/is-default-class"] === "true";
  const parameters = object.spec?.parameters;
  const group = parameters?.apiGroup === undefined ? "" : `.${parameters.apiGroup}`;
  return [
    isDefault ? `${nameOf(object)} (default)` : nameOf(object),
    object.spec?.controller ?? "",
    parameters ? `${parameters.kind}${group}/${parameters.name}` : none,
    ageCell(object, nowMs),
  ];
};

export const networkPolicyRow = (policy: NetworkPolicy, nowMs: number): Cell[] => [
  nameOf(policy),
  selectorCell(policy.spec?.podSelector ?? {}),
  ageCell(policy, nowMs),
];

export const serviceCidrRow = (object: ServiceCIDR, nowMs: number): Cell[] => [
  nameOf(object),
  (object.spec?.cidrs ?? []).join(","),
  ageCell(object, nowMs),
];

export const ipAddressRow = (address: IPAddress, nowMs: number): Cell[] => {
  const parent = address.spec?.parentRef;
  let shown = none;
  if (parent) {
    const resource = parent.group ? `${parent.resource}.${parent.group}` : parent.resource;
    shown = [resource.toLowerCase(), parent.namespace, parent.name].filter(Boolean).join("/");
  }
  return [nameOf(address), shown, ageCell(address, nowMs)];
};
