/** Gives a service its families, addresses and node ports. */
import { deepEqual } from "@keelson/core";
import type { Service, ServiceSpec } from "@keelson/core/kinds";
import { failure, internalError, invalid } from "../../contracts/status-error.ts";
import { parseAddress } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { type Family, keyOfService, type ServiceAddresses } from "./service-addresses.ts";
import {
  checkClusterAddresses,
  isHeadless,
  needsClusterAddress,
  needsHealthCheck,
  needsNodePort,
} from "./service-rules.ts";

/** Throws what the client reads when something cannot be given. */
export function allocate(
  addresses: ServiceAddresses,
  service: Service,
  old: Service | undefined,
  dryRun: boolean,
): void {
  const spec = service.spec as ServiceSpec;
  const before = old?.spec;
  if (before) carryOver(spec, before);
  normalizeAddresses(spec, before);
  const matching =
    spec.ipFamilyPolicy === "PreferDualStack" &&
    before?.ipFamilyPolicy === "PreferDualStack" &&
    before.type !== "ExternalName" &&
    sameAddresses(spec, before) &&
    deepEqual(spec.ipFamilies, before.ipFamilies);
  if (!matching) {
    initFamilies(addresses, service, old);
    allocateAddresses(addresses, service, old);
  }
  allocatePorts(addresses, service, old, dryRun);
}

/** What the client leaves out of an update stays as it is. */
function carryOver(spec: ServiceSpec, before: ServiceSpec): void {
  if (needsClusterAddress(before) && needsClusterAddress(spec)) {
    if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP;
    if (!spec.clusterIPs?.length && before.clusterIPs?.length) spec.clusterIPs = [...before.clusterIPs];
  }
  if (needsNodePort(before) && needsNodePort(spec)) {
    const now = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
    const used = new Set(
      (before.ports ?? []).map(({ nodePort }) => nodePort).filter((port) => port && now.has(port)),
    );
    for (const port of spec.ports ?? []) {
      if (port.nodePort) continue;
      const known = before.ports?.findLast(({ name }) => (name ?? "") === (port.name ?? ""))?.nodePort;
      if (known && !used.has(known)) port.nodePort = known;
    }
  }
  if (
    needsHealthCheck(before) &&
    needsHealthCheck(spec) &&
    !spec.healthCheckNodePort &&
    before.healthCheckNodePort
  )
    spec.healthCheckNodePort = before.healthCheckNodePort;
}

function sameAddresses(spec: ServiceSpec, before: ServiceSpec): boolean {
  return (spec.clusterIP ?? "") === (before.clusterIP ?? "") && samePlural(spec, before);
}

function samePlural(spec: ServiceSpec, before: ServiceSpec): boolean {
  return deepEqual(spec.clusterIPs ?? [], before.clusterIPs ?? []);
}

/** The singular and the plural field say the same. */
function normalizeAddresses(spec: ServiceSpec, before: ServiceSpec | undefined): void {
  const now = spec.clusterIP ?? "";
  if (!before) {
    if (now && !spec.clusterIPs?.length) spec.clusterIPs = [now];
    return;
  }
  const then = before.clusterIP ?? "";
  if (before.clusterIPs?.length && !spec.clusterIPs?.length && then === now)
    spec.clusterIPs = [...before.clusterIPs];
  if (then === now || !samePlural(spec, before)) return;
  if (then && !now) delete spec.clusterIPs;
  else spec.clusterIPs = [now];
}

function refuse(service: Service, errors: Errors): void {
  if (errors.list.length > 0)
    throw invalid({ group: "", kind: "Service" }, service.metadata?.name ?? "", errors.list);
}

function familyOf(address: string): Family {
  return parseAddress(address)?.family === 6 ? "IPv6" : "IPv4";
}

const otherFamily = { IPv4: "IPv6", IPv6: "IPv4" } as const;

function initFamilies(addresses: ServiceAddresses, service: Service, old: Service | undefined): void {
  const spec = service.spec as ServiceSpec;
  const before = old?.spec;
  if (spec.type === "ExternalName") return;
  const selectorless = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (selectorless ? "RequireDualStack" : "SingleStack");
  const first = new Errors();
  checkClusterAddresses(spec, before, first);
  refuse(service, first);

  const errors = new Errors();
  const path = "spec.ipFamilyPolicy";
  const policy = spec.ipFamilyPolicy;
  if (before) {
    if (policy === "SingleStack") {
      if (sameAddresses(spec, before) && (spec.clusterIPs?.length ?? 0) > 1)
        spec.clusterIPs = spec.clusterIPs?.slice(0, 1) as string[];
      if (deepEqual(spec.ipFamilies, before.ipFamilies) && (spec.ipFamilies?.length ?? 0) > 1)
        spec.ipFamilies = spec.ipFamilies?.slice(0, 1) as Family[];
    } else {
      if (isReduced(spec.clusterIPs, before.clusterIPs))
        errors.invalid(path, policy, "must be 'SingleStack' to release the secondary cluster IP");
      if (isReduced(spec.ipFamilies, before.ipFamilies))
        errors.invalid(path, policy, "must be 'SingleStack' to release the secondary IP family");
    }
  }
  const needsDual = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  if (policy === "SingleStack" && spec.clusterIPs?.length === 2)
    errors.invalid(path, policy, `${needsDual} cluster IPs are specified`);
  if (policy === "SingleStack" && spec.ipFamilies?.length === 2)
    errors.invalid(path, policy, `${needsDual} IP families are specified`);
  for (const [i, address] of (spec.clusterIPs ?? []).entries()) {
    if (address === "None") break;
    if (i < (spec.ipFamilies?.length ?? 0)) continue;
    const family = familyOf(address);
    if (!addresses.families.includes(family as Family))
      errors.invalid(`spec.clusterIPs[${i}]`, spec.clusterIPs, `${family} is not configured on this cluster`);
    else spec.ipFamilies = [...(spec.ipFamilies ?? []), family];
  }
  refuse(service, errors);
  if (selectorless) {
    if (!spec.ipFamilies?.length) spec.ipFamilies = [addresses.defaultFamily];
    if (spec.ipFamilies.length < 2 && policy !== "SingleStack")
      spec.ipFamilies = [...spec.ipFamilies, otherFamily[spec.ipFamilies[0] as Family]];
    return;
  }
  if (policy === "RequireDualStack" && addresses.families.length < 2)
    errors.invalid(path, policy, "this cluster is not configured for dual-stack services");
  for (const [i, family] of (spec.ipFamilies ?? []).entries())
    if (!addresses.families.includes(family as Family))
      errors.invalid(`spec.ipFamilies[${i}]`, family, "not configured on this cluster");
  refuse(service, errors);
  if (!spec.ipFamilies?.length) spec.ipFamilies = [addresses.defaultFamily];
  if (policy !== "SingleStack" && spec.ipFamilies.length === 1 && addresses.families.length === 2)
    spec.ipFamilies = [...spec.ipFamilies, otherFamily[spec.ipFamilies[0] as Family]];
}

function isReduced(now: readonly string[] | undefined, before: readonly string[] | undefined): boolean {
  return now?.length === 1 && before?.length === 2 && now[0] === before[0];
}

function allocateAddresses(addresses: ServiceAddresses, service: Service, old: Service | undefined): void {
  const spec = service.spec as ServiceSpec;
  if (spec.type === "ExternalName" || spec.clusterIPs?.[0] === "None") return;
  const before = old?.spec;
  const fresh = !before || before.type === "ExternalName";
  if (!fresh && before.clusterIPs?.[0] === "None") return;
  const families = spec.ipFamilies ?? [];
  const upgraded = !fresh && before.ipFamilies?.length === 1 && families.length === 2;
  if (!fresh && !upgraded) return;
  const list = [...(spec.clusterIPs ?? [])];
  for (const [i, family] of families.entries()) {
    if (upgraded && i === 0) continue;
    list[i] = giveAddress(addresses, service, family as Family, list[i] ?? "");
  }
  spec.clusterIPs = list;
  if (list[0]) spec.clusterIP = list[0];
}

function giveAddress(addresses: ServiceAddresses, service: Service, family: Family, wanted: string): string {
  const key = keyOfService(service);
  if (!wanted) {
    const next = addresses.nextAddress(family, key);
    if (next === undefined)
      throw internalError(
        `failed to allocate a serviceIP for Service ${JSON.stringify(service.metadata?.name)}: range is full`,
      );
    return next;
  }
  const refusal = addresses.refusal(family, wanted, key);
  if (refusal) {
    const errors = new Errors();
    errors.invalid(
      "spec.clusterIPs",
      service.spec?.clusterIPs,
      `failed to allocate IP ${wanted}: ${refusal}`,
    );
    refuse(service, errors);
  }
  return wanted;
}

function allocatePorts(
  addresses: ServiceAddresses,
  service: Service,
  old: Service | undefined,
  dryRun: boolean,
): void {
  const spec = service.spec as ServiceSpec;
  const key = keyOfService(service);
  const taken = new Set<number>();
  const next = (): number => {
    const port = addresses.nextPort(key, taken);
    if (port === undefined) throw internalError("failed to allocate a nodePort: range is full");
    taken.add(port);
    return port;
  };
  if (needsNodePort(spec)) {
    for (const port of spec.ports ?? []) if (port.nodePort) taken.add(port.nodePort);
    if (old) updatePorts(addresses, service, next, dryRun);
    else givePorts(addresses, service, next, dryRun);
  }
  if (!needsHealthCheck(spec) || (old?.spec && needsHealthCheck(old.spec))) return;
  const { healthCheckNodePort: wanted } = spec;
  if (!wanted) spec.healthCheckNodePort = next();
  else {
    const refusal = addresses.portRefusal(wanted, key);
    if (refusal)
      throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${refusal}`);
  }
}

function wantsNodePorts(spec: ServiceSpec): boolean {
  return spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false;
}

/** Of a new service, ports with one number and different protocols share their node port. */
function givePorts(addresses: ServiceAddresses, service: Service, next: () => number, dryRun: boolean): void {
  const spec = service.spec as ServiceSpec;
  const given = new Map<number, number>();
  const asked = new Set<number>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !wantsNodePorts(spec)) continue;
    const shared = given.get(port.port);
    if (!port.nodePort)
      port.nodePort =
        shared ?? spec.ports?.find((other) => other.port === port.port && other.nodePort)?.nodePort;
    if (!port.nodePort) port.nodePort = next();
    else if (port.nodePort !== shared) {
      const path = `spec.ports[${i}].nodePort`;
      // A trial run does not ask whether the port is within the range.
      if (!dryRun) checkPort(addresses, service, path, port.nodePort);
      if (asked.has(port.nodePort))
        refusePort(service, path, port.nodePort, "provided port is already allocated");
      asked.add(port.nodePort);
    }
    if (shared === undefined) given.set(port.port, port.nodePort);
  }
}

function updatePorts(
  addresses: ServiceAddresses,
  service: Service,
  next: () => number,
  dryRun: boolean,
): void {
  const spec = service.spec as ServiceSpec;
  const seen = new Set<string>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !wantsNodePorts(spec)) continue;
    if (!port.nodePort) port.nodePort = next();
    else if (!dryRun) checkPort(addresses, service, `spec.ports[${i}].nodePort`, port.nodePort);
    const shown = `{${port.protocol} ${port.nodePort}}`;
    if (seen.has(shown)) throw failure({ code: 500, reason: "", message: `duplicate nodePort: ${shown}` });
    seen.add(shown);
  }
}

function checkPort(addresses: ServiceAddresses, service: Service, path: string, port: number): void {
  const refusal = addresses.portRefusal(port, keyOfService(service));
  if (refusal) refusePort(service, path, port, refusal);
}

function refusePort(service: Service, path: string, port: number, refusal: string): void {
  const errors = new Errors();
  errors.invalid(path, port, refusal);
  refuse(service, errors);
}

/** Just before the commit: what another request took in the meantime is given again. */
export function settle(addresses: ServiceAddresses, service: Service, chosen: ServiceSpec | undefined): void {
  const spec = service.spec as ServiceSpec;
  const key = keyOfService(service);
  if (!isHeadless(spec) && spec.type !== "ExternalName")
    for (const [i, address] of (spec.clusterIPs ?? []).entries()) {
      if (addresses.isAddressFree(address, key)) continue;
      const asked = chosen?.clusterIPs?.[i];
      const family = (spec.ipFamilies?.[i] ?? "IPv4") as Family;
      const given = giveAddress(addresses, service, family, asked ?? "");
      spec.clusterIPs = (spec.clusterIPs ?? []).map((known, at) => (at === i ? given : known));
      if (i === 0) spec.clusterIP = given;
    }
  for (const [i, port] of (spec.ports ?? []).entries())
    if (port.nodePort) checkPort(addresses, service, `spec.ports[${i}].nodePort`, port.nodePort);
}
