/** The rules of services. */
import { validateDns1123Label, validateDns1123Subdomain, validateQualifiedName } from "@keelson/core";
import type { Service, ServicePort, ServiceSpec } from "@keelson/core/kinds";
import {
  addressWarnings,
  checkAddress,
  checkRange,
  parseAddress,
  rangeWarnings,
} from "../checks/addresses.ts";
import type { Errors } from "../checks/errors.ts";
import { portNumber } from "../checks/formats.ts";
import { checkLabels } from "../checks/selectors.ts";
import { checkEndpointAddress } from "./endpoint-address.ts";
import { checkPortNumberOrName } from "./probes.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const families = ["IPv4", "IPv6"];
const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const trafficPolicies = ["Cluster", "Local"];
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const protocols = ["SCTP", "TCP", "UDP"];
const topologyHints = "service.kubernetes.io/topology-aware-hints";
const topologyMode = "service.kubernetes.io/topology-mode";
const sourceRanges = "service.beta.kubernetes.io/load-balancer-source-ranges";

export function isHeadless(spec: ServiceSpec | undefined): boolean {
  return spec?.clusterIPs?.length === 1 && spec.clusterIPs[0] === "None";
}
export function needsClusterAddress(spec: ServiceSpec): boolean {
  return spec.type !== "ExternalName";
}
export function needsNodePort(spec: ServiceSpec): boolean {
  return spec.type === "NodePort" || spec.type === "LoadBalancer";
}
export function needsHealthCheck(spec: ServiceSpec): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}
export function isExternal(spec: ServiceSpec): boolean {
  return needsNodePort(spec) || (spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0);
}

export function checkService(service: Service, old: Service | undefined, errors: Errors): void {
  const spec = service.spec as ServiceSpec;
  const annotations = service.metadata?.annotations ?? {};
  const { [topologyHints]: hints, [topologyMode]: mode } = annotations;
  if (hints !== undefined && mode !== undefined && hints !== mode)
    errors.invalid(
      `metadata.annotations[${topologyMode}]`,
      mode,
      `must match annotations[${topologyHints}] when both are specified`,
    );
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== "ExternalName") errors.required("spec.ports");
  checkType(spec, errors);
  const names = new Set<string>();
  for (const [i, port] of ports.entries())
    checkPort(`spec.ports[${i}]`, port, ports.length > 1, names, errors);
  checkLabels("spec.selector", spec.selector, errors);
  checkAffinity(spec, errors);
  checkClusterAddresses(spec, old?.spec, errors);
  for (const [i, ip] of (spec.externalIPs ?? []).entries()) {
    const at = `spec.externalIPs[${i}]`;
    const before = errors.list.length;
    checkAddress(at, ip, errors, old?.spec?.externalIPs);
    if (errors.list.length === before) checkEndpointAddress(at, ip, errors);
  }
  if (!spec.type) errors.required("spec.type");
  else if (!types.includes(spec.type)) errors.notSupported("spec.type", spec.type, types);
  checkPortNumbers(spec, errors);
  checkLoadBalancer(service, old, errors);
  checkTraffic(spec, errors);
}

function checkType(spec: ServiceSpec, errors: Errors): void {
  const { type } = spec;
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(spec))
    errors.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`);
  if (type !== "ExternalName") return;
  const refuse = "may not be set for ExternalName services";
  if (spec.clusterIPs?.length) errors.forbidden("spec.clusterIPs", refuse);
  if (spec.ipFamilies?.length) errors.forbidden("spec.ipFamilies", refuse);
  if (spec.ipFamilyPolicy !== undefined) errors.forbidden("spec.ipFamilyPolicy", refuse);
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name) errors.messages("spec.externalName", name, validateDns1123Subdomain(name));
  else errors.required("spec.externalName");
}

function checkPort(
  path: string,
  port: ServicePort,
  needsName: boolean,
  names: Set<string>,
  errors: Errors,
): void {
  if (needsName && !port.name) errors.required(`${path}.name`);
  else if (port.name) {
    errors.messages(`${path}.name`, port.name, validateDns1123Label(port.name));
    if (names.has(port.name)) errors.duplicate(`${path}.name`, port.name);
    else names.add(port.name);
  }
  errors.messages(`${path}.port`, port.port, portNumber(port.port));
  if (!port.protocol) errors.required(`${path}.protocol`);
  else if (!protocols.includes(port.protocol))
    errors.notSupported(`${path}.protocol`, port.protocol, protocols);
  checkPortNumberOrName(`${path}.targetPort`, port.targetPort ?? 0, errors);
  if (port.appProtocol !== undefined)
    errors.messages(`${path}.appProtocol`, port.appProtocol, validateQualifiedName(port.appProtocol));
}

function checkAffinity(spec: ServiceSpec, errors: Errors): void {
  const { sessionAffinity: affinity, sessionAffinityConfig: config } = spec;
  if (!affinity) errors.required("spec.sessionAffinity");
  else if (!affinities.includes(affinity)) errors.notSupported("spec.sessionAffinity", affinity, affinities);
  const path = "spec.sessionAffinityConfig";
  if (affinity === "None" && config) errors.forbidden(path, "must not be set when session affinity is None");
  if (affinity !== "ClientIP") return;
  const when = "when session affinity type is ClientIP";
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!config) errors.required(path, when);
  else if (!config.clientIP) errors.required(`${path}.clientIP`, when);
  else if (seconds === undefined) errors.required(`${path}.clientIP.timeoutSeconds`, when);
  else if (seconds <= 0 || seconds > 86_400)
    errors.invalid(`${path}.clientIP.timeoutSeconds`, seconds, "must be greater than 0 and less than 86400");
}

export function checkClusterAddresses(spec: ServiceSpec, old: ServiceSpec | undefined, errors: Errors): void {
  if (spec.type === "ExternalName") return;
  const list = spec.clusterIPs ?? [];
  const path = "spec.clusterIPs";
  if (spec.clusterIP) {
    if (list.length === 0) errors.required(path);
    else if (list[0] !== spec.clusterIP) errors.invalid(path, list, "first value must match `clusterIP`");
  } else if (list.length > 0) errors.invalid(path, list, "must be empty when `clusterIP` is not specified");
  const seen = new Set<string>();
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    if (!families.includes(family)) errors.notSupported(`spec.ipFamilies[${i}]`, family, families);
    if (seen.has(family)) errors.duplicate(`spec.ipFamilies[${i}]`, family);
    seen.add(family);
  }
  const policy = spec.ipFamilyPolicy;
  if (policy !== undefined && !familyPolicies.includes(policy))
    errors.notSupported("spec.ipFamilyPolicy", policy, familyPolicies);
  let broken = false;
  for (const [i, address] of list.entries()) {
    if (i === 0 && address === "None") {
      if (list.length > 1) {
        broken = true;
        errors.invalid(path, list, "'None' must be the first and only value");
      }
      continue;
    }
    const before = errors.list.length;
    checkAddress(`${path}[${i}]`, address, errors, old?.clusterIPs);
    broken ||= errors.list.length > before;
  }
  if (list.length > 2) errors.invalid(path, list, "may only hold up to 2 values");
  if (broken) return;
  if (list.length > 1 && new Set(list.map((address) => parseAddress(address)?.family)).size < 2)
    errors.invalid(path, list, "may specify no more than one IP for each IP family");
  if (isHeadless(spec)) return;
  for (const [i, address] of list.entries()) {
    const family = spec.ipFamilies?.[i];
    const isSix = parseAddress(address)?.family === 6;
    if ((family === "IPv4" && isSix) || (family === "IPv6" && !isSix))
      errors.invalid(
        `${path}[${i}]`,
        address,
        `expected an ${family} value as indicated by \`ipFamilies[${i}]\``,
      );
  }
}

function checkPortNumbers(spec: ServiceSpec, errors: Errors): void {
  const ports = spec.ports ?? [];
  if (spec.type === "ClusterIP")
    for (const [i, { nodePort }] of ports.entries())
      if (nodePort)
        errors.forbidden(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'");
  const nodePorts = new Set<string>();
  for (const [i, { nodePort, protocol }] of ports.entries()) {
    if (!nodePort) continue;
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) errors.duplicate(`spec.ports[${i}].nodePort`, nodePort);
    nodePorts.add(key);
  }
  const numbers = new Set<string>();
  for (const [i, { port, protocol }] of ports.entries()) {
    const key = `${protocol}/${port}`;
    if (numbers.has(key))
      errors.duplicate(`spec.ports[${i}]`, {
        Name: "",
        Protocol: protocol,
        AppProtocol: null,
        Port: port,
        TargetPort: 0,
        NodePort: 0,
      });
    numbers.add(key);
  }
}

function checkLoadBalancer(service: Service, old: Service | undefined, errors: Errors): void {
  const spec = service.spec as ServiceSpec;
  const annotations = service.metadata?.annotations ?? {};
  const only = "may only be used when `type` is 'LoadBalancer'";
  const balanced = spec.type === "LoadBalancer";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const annotation = annotations[sourceRanges];
  if (ranges.length > 0) {
    const path = "spec.LoadBalancerSourceRanges";
    if (!balanced) errors.forbidden(path, only);
    const known = (old?.spec?.loadBalancerSourceRanges ?? []).map((value) => value.trim());
    for (const [i, value] of ranges.entries()) checkRange(`${path}[${i}]`, value.trim(), errors, known);
  } else if (annotation !== undefined) {
    const path = `metadata.annotations[${sourceRanges}]`;
    if (!balanced) errors.forbidden(path, only);
    if (old?.metadata?.annotations?.[sourceRanges] !== annotation && annotation.trim())
      for (const value of annotation.trim().split(",")) checkRange(path, value.trim(), errors);
  }
  if (spec.allocateLoadBalancerNodePorts !== undefined && !balanced)
    errors.forbidden("spec.allocateLoadBalancerNodePorts", only);
  if (balanced && spec.allocateLoadBalancerNodePorts === undefined)
    errors.required("allocateLoadBalancerNodePorts");
  checkLoadBalancerClass(spec, undefined, errors);
}

function checkLoadBalancerClass(spec: ServiceSpec, old: ServiceSpec | undefined, errors: Errors): void {
  const path = "spec.loadBalancerClass";
  const name = spec.loadBalancerClass;
  const balanced = spec.type === "LoadBalancer";
  if (old?.type === "LoadBalancer" && balanced && old.loadBalancerClass !== name)
    errors.invalid(path, name, "may not change once set");
  if (name === undefined) return;
  if (balanced) errors.messages(path, name, validateQualifiedName(name));
  else errors.forbidden(path, "may only be used when `type` is 'LoadBalancer'");
}

function checkTraffic(spec: ServiceSpec, errors: Errors): void {
  const {
    externalTrafficPolicy: external,
    healthCheckNodePort: health = 0,
    internalTrafficPolicy: internal,
  } = spec;
  if (!isExternal(spec)) {
    if (external)
      errors.invalid(
        "spec.externalTrafficPolicy",
        external,
        "may only be set for externally-accessible services",
      );
  } else if (!external) errors.required("spec.externalTrafficPolicy");
  else if (!trafficPolicies.includes(external))
    errors.notSupported("spec.externalTrafficPolicy", external, trafficPolicies);
  if (!needsHealthCheck(spec)) {
    if (health !== 0)
      errors.invalid(
        "spec.healthCheckNodePort",
        health,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      );
  } else if (health === 0) errors.required("spec.healthCheckNodePort");
  else errors.messages("spec.healthCheckNodePort", health, portNumber(health));
  if (internal === undefined) {
    if (spec.type === "ClusterIP" || needsNodePort(spec)) errors.required("spec.internalTrafficPolicy");
  } else if (!trafficPolicies.includes(internal))
    errors.notSupported("spec.internalTrafficPolicy", internal, trafficPolicies);
  const distribution = spec.trafficDistribution;
  if (distribution !== undefined && !distributions.includes(distribution))
    errors.notSupported("spec.trafficDistribution", distribution, distributions);
}

export function checkServiceUpdate(service: Service, old: Service, errors: Errors): void {
  const spec = service.spec as ServiceSpec;
  const before = old.spec as ServiceSpec;
  checkAddressChanges(spec, before, errors);
  checkFamilyChanges(spec, before, errors);
  checkLoadBalancerClass(spec, before, errors);
  if (
    needsHealthCheck(before) &&
    needsHealthCheck(spec) &&
    before.healthCheckNodePort !== spec.healthCheckNodePort
  )
    errors.forbidden("spec.healthCheckNodePort", "field is immutable");
  checkService(service, old, errors);
}

const changed = "may not change once set";

function checkAddressChanges(spec: ServiceSpec, before: ServiceSpec, errors: Errors): void {
  if (spec.type === "ExternalName" || before.type === "ExternalName") return;
  if (isHeadless(spec) && isHeadless(before)) return;
  const now = spec.clusterIPs ?? [];
  const then = before.clusterIPs ?? [];
  const path = "spec.clusterIPs";
  if (now.length === then.length) {
    for (const [i, address] of then.entries())
      if (address !== now[i]) errors.invalid(`${path}[${i}]`, now, changed);
    return;
  }
  if (then.length > now.length) {
    if (now.length === 0) errors.invalid(`${path}[0]`, now, "primary clusterIP can not be unset");
    else if (now[0] !== then[0]) errors.invalid(`${path}[0]`, now, changed);
    if (now.length === 1 && spec.ipFamilyPolicy !== "SingleStack")
      errors.invalid(
        "spec.ipFamilyPolicy",
        spec.ipFamilyPolicy,
        "must be set to 'SingleStack' when releasing the secondary clusterIP",
      );
  } else if (then.length > 0 && now[0] !== then[0]) errors.invalid(`${path}[0]`, now, changed);
}

function checkFamilyChanges(spec: ServiceSpec, before: ServiceSpec, errors: Errors): void {
  if (spec.type === "ExternalName" || before.type === "ExternalName") return;
  if (isHeadless(spec) || isHeadless(before)) return;
  const now = spec.ipFamilies ?? [];
  const then = before.ipFamilies ?? [];
  const path = "spec.ipFamilies[0]";
  if (now.length === then.length) {
    for (const [i, family] of then.entries()) if (family !== now[i]) errors.invalid(path, now, changed);
    return;
  }
  if (then.length > now.length) {
    if (!spec.clusterIPs?.length) errors.invalid(path, now, "primary ipFamily can not be unset");
    if (now.length > 0 && now[0] !== then[0]) errors.invalid(path, spec.clusterIPs, changed);
    if (now.length === 1 && spec.ipFamilyPolicy !== "SingleStack")
      errors.invalid(
        "spec.ipFamilyPolicy",
        spec.ipFamilyPolicy,
        "must be set to 'SingleStack' when releasing the secondary ipFamily",
      );
  } else if (then.length > 0 && now[0] !== then[0]) errors.invalid(path, spec.clusterIPs, changed);
}

const modes = ["Proxy", "VIP"];

export function checkLoadBalancerStatus(service: Service, old: Service, errors: Errors): void {
  const path = "status.loadBalancer.ingress";
  const list = service.status?.loadBalancer?.ingress ?? [];
  if (service.spec?.type !== "LoadBalancer") {
    if (list.length > 0) errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
    return;
  }
  const known = (old.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "").filter(Boolean);
  for (const [i, { ip, ipMode, hostname }] of list.entries()) {
    const at = `${path}[${i}]`;
    if (ip) checkAddress(`${at}.ip`, ip, errors, known);
    if (ipMode === undefined) {
      if (ip) errors.required(`${at}.ipMode`, "must be specified when `ip` is set");
    } else if (!ip) errors.forbidden(`${at}.ipMode`, "may not be specified when `ip` is not set");
    else if (!modes.includes(ipMode)) errors.notSupported(`${at}.ipMode`, ipMode, modes);
    if (!hostname) continue;
    errors.messages(`${at}.hostname`, hostname, validateDns1123Subdomain(hostname));
    if (parseAddress(hostname))
      errors.invalid(`${at}.hostname`, hostname, "must be a DNS name, not an IP address");
  }
}

export function serviceWarnings(service: Service): string[] {
  const spec = service.spec as ServiceSpec;
  const warnings: string[] = [];
  if (service.metadata?.annotations?.[topologyHints] !== undefined)
    warnings.push(`annotation ${topologyHints} is deprecated, please use ${topologyMode} instead`);
  if (spec.clusterIP && spec.clusterIP !== "None")
    for (const [i, address] of (spec.clusterIPs ?? []).entries())
      warnings.push(...addressWarnings(`spec.clusterIPs[${i}]`, address));
  const headless = spec.type === "ClusterIP" && spec.clusterIP === "None";
  const externalIPs = spec.externalIPs ?? [];
  if (headless) {
    if (spec.loadBalancerIP) warnings.push("spec.loadBalancerIP is ignored for headless services");
    if (externalIPs.length > 0) warnings.push("spec.externalIPs is ignored for headless services");
    if (spec.sessionAffinity !== "None")
      warnings.push("spec.SessionAffinity is ignored for headless services");
  }
  for (const [i, address] of externalIPs.entries())
    warnings.push(...addressWarnings(`spec.externalIPs[${i}]`, address));
  if (externalIPs.length > 0 && !headless && spec.type !== "ExternalName")
    warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  if (spec.loadBalancerIP) warnings.push(...addressWarnings("spec.loadBalancerIP", spec.loadBalancerIP));
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries())
    warnings.push(...rangeWarnings(`spec.loadBalancerSourceRanges[${i}]`, range));
  if (spec.type === "ExternalName" && externalIPs.length > 0)
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (spec.type !== "ExternalName" && spec.externalName)
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  if (spec.trafficDistribution === "PreferClose")
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  return warnings;
}
