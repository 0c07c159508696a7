/** Rules of endpoint slices. */
import {
  deepEqual,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from "@keelson/core";
import type { Endpoint, EndpointHints, EndpointSlice } from "@keelson/core/kinds";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";
import { addressWarnings, checkAddress, checkCanonicalAddress, parseAddress } from "./checks/addresses.ts";
import { Errors } from "./checks/errors.ts";
import { checkLabels } from "./checks/selectors.ts";
import { anyChange, checkImmutable, checking, checkingUpdate } from "./checks/strategies.ts";
import { checkEndpointAddress } from "./core/endpoint-address.ts";

const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["SCTP", "TCP", "UDP"];
const atMost = { topology: 16, addresses: 100, ports: 20000, endpoints: 1000, hints: 8 };

function check(slice: EndpointSlice, old: EndpointSlice | undefined, errors: Errors): void {
  if (!slice.addressType) errors.required("addressType");
  else if (!addressTypes.includes(slice.addressType))
    errors.notSupported("addressType", slice.addressType, addressTypes);
  checkPorts(slice, errors);
  const own = new Errors();
  checkEndpoints(slice.endpoints ?? [], slice.addressType, own);
  if (!old || own.list.length === 0 || !deepEqual(slice.endpoints, old.endpoints)) errors.add(own.list);
}

function checkPorts({ ports }: EndpointSlice, errors: Errors): void {
  if (!ports) return;
  if (ports.length > atMost.ports) {
    errors.tooMany("ports", ports.length, atMost.ports);
    return;
  }
  const seen = new Set<string>();
  for (const [i, { name = "", protocol, appProtocol }] of ports.entries()) {
    const path = `ports[${i}]`;
    if (name) errors.messages(`${path}.name`, name, validateDns1123Label(name));
    if (seen.has(name)) errors.duplicate(`${path}.name`, name);
    seen.add(name);
    if (protocol === undefined) errors.required(`${path}.protocol`);
    else if (!protocols.includes(protocol)) errors.notSupported(`${path}.protocol`, protocol, protocols);
    if (appProtocol !== undefined)
      errors.messages(`${path}.appProtocol`, appProtocol, validateQualifiedName(appProtocol));
  }
}

function checkEndpoints(endpoints: readonly Endpoint[], type: string, errors: Errors): void {
  if (endpoints.length > atMost.endpoints) {
    errors.tooMany("endpoints", endpoints.length, atMost.endpoints);
    return;
  }
  for (const [i, endpoint] of endpoints.entries()) {
    const path = `endpoints[${i}]`;
    const addresses = endpoint.addresses ?? [];
    if (addresses.length === 0) errors.required(`${path}.addresses`, "must contain at least 1 address");
    else if (addresses.length > atMost.addresses)
      errors.tooMany(`${path}.addresses`, addresses.length, atMost.addresses);
    for (const [j, address] of addresses.entries()) checkOne(`${path}.addresses`, j, address, type, errors);
    const { nodeName, hostname, hints, deprecatedTopology } = endpoint;
    if (nodeName !== undefined)
      errors.messages(`${path}.nodeName`, nodeName, validateDns1123Subdomain(nodeName));
    const labels = Object.keys(deprecatedTopology ?? {}).length;
    if (labels > atMost.topology) errors.tooMany(`${path}.deprecatedTopology`, labels, atMost.topology);
    checkLabels(`${path}.deprecatedTopology`, deprecatedTopology, errors);
    if (hostname !== undefined) errors.messages(`${path}.hostname`, hostname, validateDns1123Label(hostname));
    if (hints) checkHints(`${path}.hints`, hints, errors);
  }
}

function checkOne(list: string, index: number, address: string, type: string, errors: Errors): void {
  const path = `${list}[${index}]`;
  if (type === "FQDN") {
    checkDomain(path, address, errors);
    return;
  }
  if (type !== "IPv4" && type !== "IPv6") return;
  const own = new Errors();
  if (type === "IPv4") checkAddress(path, address, own);
  else checkCanonicalAddress(path, address, own);
  if (own.list.length > 0) {
    errors.add(own.list);
    return;
  }
  if (parseAddress(address)?.family !== (type === "IPv4" ? 4 : 6))
    errors.invalid(list, address, `must be an ${type} address`);
  checkEndpointAddress(path, address, errors);
}

function checkDomain(path: string, text: string, errors: Errors): void {
  if (text === "") {
    errors.required(path);
    return;
  }
  const name = text.endsWith(".") ? text.slice(0, -1) : text;
  const problems = validateDns1123Subdomain(name);
  const labels = name.split(".");
  if (problems.length > 0) errors.invalid(path, name, problems.join(","));
  else if (labels.length < 2)
    errors.invalid(path, name, "should be a domain with at least two segments separated by dots");
  else
    for (const label of labels) {
      const wrong = validateDns1123Label(label);
      if (wrong.length === 0) continue;
      errors.invalid(path, label, wrong.join(","));
      return;
    }
}

function checkHints(path: string, { forZones = [], forNodes = [] }: EndpointHints, errors: Errors): void {
  const lists = [
    ["forZones", forZones, validateLabelValue],
    ["forNodes", forNodes, validateDns1123Subdomain],
  ] as const;
  for (const [field, list, rule] of lists) {
    if (list.length > atMost.hints) {
      errors.tooMany(`${path}.${field}`, list.length, atMost.hints);
      return;
    }
    const seen = new Set<string>();
    for (const [i, { name = "" }] of list.entries()) {
      const at = `${path}.${field}[${i}].name`;
      if (seen.has(name)) errors.duplicate(at, name);
      seen.add(name);
      errors.messages(at, name, rule(name));
    }
  }
}

/** The old way of saying where an endpoint is; only its node survives, and only for slices that had it. */
function dropTopology(draft: ApiObject, old: ApiObject | undefined): void {
  const slice = draft as unknown as EndpointSlice;
  const before = old as unknown as EndpointSlice | undefined;
  if (before && deepEqual(before.endpoints, slice.endpoints)) return;
  const host = "kubernetes.io/hostname";
  const known = new Set(before?.endpoints?.map(({ deprecatedTopology }) => deprecatedTopology?.[host]));
  for (const endpoint of slice.endpoints ?? []) {
    const node = endpoint.deprecatedTopology?.[host];
    if (node && endpoint.nodeName === undefined && known.has(node) && !validateDns1123Subdomain(node).length)
      endpoint.nodeName = node;
    delete endpoint.deprecatedTopology;
  }
}

const ownManagers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

function badAddresses(object: ApiObject): string[] {
  const slice = object as unknown as EndpointSlice;
  const manager = object.metadata.labels?.["endpointslice.kubernetes.io/managed-by"] ?? "";
  if (ownManagers.includes(manager)) return [];
  return (slice.endpoints ?? []).flatMap(({ addresses }, i) =>
    (addresses ?? []).flatMap((address, j) => addressWarnings(`endpoints[${i}].addresses[${j}]`, address)),
  );
}

export const endpointSlices: Strategy = {
  generation: (object, old) =>
    anyChange(object, old) || !deepEqual(object.metadata.labels, old.metadata.labels),
  prepareForCreate(draft) {
    draft.metadata.generation = 1;
    dropTopology(draft, undefined);
  },
  prepareForUpdate: dropTopology,
  validate: checking<EndpointSlice>((slice, errors) => check(slice, undefined, errors)),
  validateUpdate: checkingUpdate<EndpointSlice>((slice, old, errors) => {
    check(slice, old, errors);
    checkImmutable("addressType", slice.addressType, old.addressType, errors);
  }),
  warningsOnCreate: (object) => [
    ...(object.addressType === "FQDN" ? ["spec.addressType: FQDN endpoints are deprecated"] : []),
    ...badAddresses(object),
  ],
  warningsOnUpdate: badAddresses,
};
