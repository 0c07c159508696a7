/** The spec of a pod, wherever it stands: in a pod or in a template. */
import {
  type ObjectMeta,
  Quantity,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
} from "@keelson/core";
import { byteLength } from "@keelson/core/internal";
import type { PodSpec } from "@keelson/core/kinds";
import { containerAmounts } from "@keelson/workloads";
import { checkAddress } from "../checks/addresses.ts";
import type { Errors } from "../checks/errors.ts";
import { rangeError, searchDomain } from "../checks/formats.ts";
import { checkLabels } from "../checks/selectors.ts";
import { allContainers, visitContainers } from "./all-containers.ts";
import { checkQualifiedName } from "./annotations.ts";
import { checkContainers, checkEphemeralContainers, checkInitContainers } from "./containers.ts";
import { checkOperatingSystem, checkWindowsHostProcess } from "./operating-system.ts";
import { checkRequirements, isHugePages } from "./resources.ts";
import {
  checkAffinity,
  checkTolerations,
  checkTopologySpread,
  hasInvalidNodeLabelValue,
} from "./scheduling.ts";
import { checkPodSecurityContext, refusedSysctl } from "./security-context.ts";
import { checkVolumes } from "./volumes.ts";

/** What an update may keep because it was accepted before. */
export interface PodRules {
  readonly isPod: boolean;
  readonly allowIndivisible: boolean;
  readonly allowNodeLabelValues: boolean;
  readonly allowSpreadSelectors: boolean;
  readonly allowNonLocalTokenPath: boolean;
  readonly allowHostSysctls: boolean;
  readonly allowRestartOnResize: boolean;
  readonly allowDevicesInUserNamespace: boolean;
}

const strict: Omit<PodRules, "isPod"> = {
  allowIndivisible: false,
  allowNodeLabelValues: false,
  allowSpreadSelectors: false,
  allowNonLocalTokenPath: false,
  allowHostSysctls: false,
  allowRestartOnResize: false,
  allowDevicesInUserNamespace: false,
};
const strictPod: PodRules = { ...strict, isPod: true };
const strictTemplate: PodRules = { ...strict, isPod: false };

export function podRules(isPod: boolean, old: PodSpec | undefined): PodRules {
  if (!old) return isPod ? strictPod : strictTemplate;
  const terms =
    old.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const initContainers = old.initContainers ?? [];
  return {
    ...strict,
    isPod,
    allowNodeLabelValues: terms.length > 0 && hasInvalidNodeLabelValue(terms),
    allowSpreadSelectors: (old.topologySpreadConstraints ?? []).some(({ labelSelector }) =>
      (labelSelector?.matchExpressions ?? []).some(({ values = [] }) =>
        values.some((value) => validateLabelValue(value).length > 0),
      ),
    ),
    allowNonLocalTokenPath: (old.volumes ?? []).some(({ projected }) =>
      (projected?.sources ?? []).some(({ serviceAccountToken }) => isNonLocal(serviceAccountToken?.path)),
    ),
    allowHostSysctls: (old.securityContext?.sysctls ?? []).some(({ name }) => refusedSysctl(name, old)),
    allowRestartOnResize: initContainers.some(
      ({ restartPolicy, resizePolicy = [] }) =>
        restartPolicy !== "Always" &&
        resizePolicy.some((policy) => policy.restartPolicy === "RestartContainer"),
    ),
    allowDevicesInUserNamespace:
      old.hostUsers === false && allContainers(old).some(({ volumeDevices }) => volumeDevices?.length),
  };
}

function isNonLocal(path: string | undefined): boolean {
  return (
    path !== undefined && (path.startsWith("/") || path.split("/").includes("..") || path.startsWith(".."))
  );
}

const noClaims: ReadonlySet<string> = new Set();
const maxInt32 = 2 ** 31 - 1;
const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const preemptionPolicies = ["PreemptLowerPriority", "Never"];

/** `meta` is that of a pod; a template has none of its own yet. */
export function checkPodSpec(
  path: string,
  spec: PodSpec,
  meta: ObjectMeta | undefined,
  rules: PodRules,
  errors: Errors,
): void {
  if (spec.terminationGracePeriodSeconds === undefined)
    errors.required(`${path}.terminationGracePeriodSeconds`);
  const hostUsers = spec.hostUsers ?? true;
  const volumes = checkVolumes(`${path}.volumes`, spec.volumes ?? [], meta?.name ?? "", rules, errors);
  const claims = spec.resourceClaims
    ? checkResourceClaims(`${path}.resourceClaims`, spec, meta, errors)
    : noClaims;
  const scope = {
    spec,
    volumes,
    claims,
    hostUsers,
    allowIndivisible: rules.allowIndivisible,
    allowRestartOnResize: rules.allowRestartOnResize,
  };
  checkContainers(`${path}.containers`, scope, errors);
  if (spec.initContainers) checkInitContainers(`${path}.initContainers`, scope, errors);
  if (spec.ephemeralContainers) checkEphemeralContainers(`${path}.ephemeralContainers`, scope, errors);
  if (spec.resources) checkPodResources(path, spec, claims, errors);
  checkHostNetworkPorts(path, spec, rules, errors);
  checkChoice(`${path}.restartPolicy`, spec.restartPolicy, restartPolicies, errors);
  checkChoice(`${path}.dnsPolicy`, spec.dnsPolicy, dnsPolicies, errors);
  checkLabels(`${path}.nodeSelector`, spec.nodeSelector, errors);
  checkPodSecurityContext(`${path}.securityContext`, spec, rules.allowHostSysctls, errors);
  checkAffinity(`${path}.affinity`, spec.affinity, rules.allowNodeLabelValues, errors);
  checkDns(`${path}.dnsConfig`, spec, errors);
  for (const [i, { conditionType }] of (spec.readinessGates ?? []).entries())
    checkQualifiedName(`${path}.readinessGates[${i}].conditionType`, conditionType, errors);
  checkGates(`${path}.schedulingGates`, spec, errors);
  if (spec.topologySpreadConstraints)
    checkTopologySpread(
      `${path}.topologySpreadConstraints`,
      spec.topologySpreadConstraints,
      rules.allowSpreadSelectors,
      errors,
    );
  checkWindowsHostProcess(path, spec, errors);
  checkHostUsers(path, spec, rules, errors);
  checkHostName(path, spec, errors);
  if (spec.serviceAccountName)
    errors.messages(
      `${path}.serviceAccountName`,
      spec.serviceAccountName,
      validateDns1123Subdomain(spec.serviceAccountName),
    );
  if (spec.nodeName)
    errors.messages(`${path}.nodeName`, spec.nodeName, validateDns1123Subdomain(spec.nodeName));
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > maxInt32))
    errors.invalid(`${path}.activeDeadlineSeconds`, deadline, rangeError(1, maxInt32));
  if (spec.hostname) errors.messages(`${path}.hostname`, spec.hostname, validateDns1123Label(spec.hostname));
  if (spec.subdomain)
    errors.messages(`${path}.subdomain`, spec.subdomain, validateDns1123Label(spec.subdomain));
  if (spec.tolerations) checkTolerations(`${path}.tolerations`, spec.tolerations, errors);
  for (const [i, alias] of (spec.hostAliases ?? []).entries()) {
    checkAddress(`${path}.hostAliases[${i}].ip`, alias.ip, errors);
    for (const [j, name] of (alias.hostnames ?? []).entries())
      errors.messages(`${path}.hostAliases[${i}].hostnames[${j}]`, name, validateDns1123Subdomain(name));
  }
  if (spec.priorityClassName)
    errors.messages(
      `${path}.priorityClassName`,
      spec.priorityClassName,
      validateDns1123Subdomain(spec.priorityClassName),
    );
  if (spec.runtimeClassName !== undefined)
    errors.messages(
      `${path}.runtimeClassName`,
      spec.runtimeClassName,
      validateDns1123Subdomain(spec.runtimeClassName),
    );
  if (spec.preemptionPolicy !== undefined)
    checkChoice(`${path}.preemptionPolicy`, spec.preemptionPolicy, preemptionPolicies, errors);
  if (spec.overhead) checkRequirements(`${path}.overhead`, { limits: spec.overhead }, noClaims, errors);
  checkOperatingSystem(path, spec, errors);
  checkFileKeyVolumes(path, spec, errors);
}

function checkChoice(
  path: string,
  value: string | undefined,
  supported: readonly string[],
  errors: Errors,
): void {
  if (!value) errors.required(path);
  else if (!supported.includes(value)) errors.notSupported(path, value, supported);
}

function checkResourceClaims(
  path: string,
  spec: PodSpec,
  meta: ObjectMeta | undefined,
  errors: Errors,
): Set<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  for (const { name } of spec.resourceClaims ?? []) if (name) names.add(name);
  for (const [i, claim] of (spec.resourceClaims ?? []).entries()) {
    const at = `${path}[${i}]`;
    if (meta?.annotations?.["kubernetes.io/config.mirror"] !== undefined) {
      errors.forbidden("", "static pods do not support resource claims");
      continue;
    }
    if (!claim.name) errors.required(`${at}.name`);
    else if (seen.has(claim.name)) errors.duplicate(`${at}.name`, claim.name);
    else {
      errors.messages(`${at}.name`, claim.name, validateDns1123Label(claim.name));
      seen.add(claim.name);
    }
    const { resourceClaimName: own, resourceClaimTemplateName: template } = claim;
    if (own !== undefined && template !== undefined)
      errors.invalid(
        at,
        claim,
        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
      );
    if (own === undefined && template === undefined)
      errors.invalid(at, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    if (own !== undefined) errors.messages(`${at}.resourceClaimName`, own, validateDns1123Subdomain(own));
    if (template !== undefined)
      errors.messages(`${at}.resourceClaimTemplateName`, template, validateDns1123Subdomain(template));
  }
  return names;
}

function checkPodResources(path: string, spec: PodSpec, claims: ReadonlySet<string>, errors: Errors): void {
  const at = `${path}.resources`;
  const own = spec.resources;
  if (!own) return;
  if (spec.os?.name === "windows") {
    errors.forbidden(at, "may not be set for a windows pod");
    return;
  }
  if (own.claims) errors.forbidden(`${at}.claims`, "claims may not be set for Resources at pod-level");
  checkRequirements(at, own, claims, errors, { pod: true });
  for (const [name, total] of containerAmounts(spec, "requests")) {
    const requested = own.requests?.[name];
    if (requested !== undefined && total.compare(Quantity.from(requested)) > 0)
      errors.invalid(
        `${at}.requests[${name}]`,
        String(requested),
        `must be greater than or equal to aggregate container requests of ${total.toString()}`,
      );
  }
  for (const [name, total] of containerAmounts(spec, "limits")) {
    const limit = own.limits?.[name];
    if (isHugePages(name) && limit !== undefined && total.compare(Quantity.from(limit)) > 0)
      errors.invalid(
        `${at}.limits[${name}]`,
        String(limit),
        `must be greater than or equal to aggregate container limits of ${total.toString()}`,
      );
  }
  for (const [i, container] of (spec.containers ?? []).entries())
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const bound = own.limits?.[name];
      if (bound !== undefined && Quantity.from(limit).compare(Quantity.from(bound)) > 0)
        errors.invalid(
          `${at}.containers[${i}][${name}].limits`,
          String(limit),
          `must be less than or equal to pod limits of ${String(bound)}`,
        );
    }
}

function checkHostNetworkPorts(path: string, spec: PodSpec, rules: PodRules, errors: Errors): void {
  if (!spec.hostNetwork) return;
  for (const [i, { ports = [] }] of (spec.containers ?? []).entries())
    for (const [j, { hostPort = 0, containerPort }] of ports.entries())
      if ((rules.isPod || hostPort !== 0) && hostPort !== containerPort)
        errors.invalid(
          `${path}.containers[${i}].ports[${j}].hostPort`,
          hostPort,
          "must match `containerPort` when `hostNetwork` is true",
        );
}

function checkDns(path: string, spec: PodSpec, errors: Errors): void {
  const config = spec.dnsConfig;
  if (spec.dnsPolicy === "None") {
    if (!config) {
      errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (!config.nameservers?.length) {
      errors.required(
        `${path}.nameservers`,
        "must provide at least one DNS nameserver when `dnsPolicy` is None",
      );
      return;
    }
  }
  if (!config) return;
  const { nameservers = [], searches = [], options = [] } = config;
  if (nameservers.length > 3)
    errors.invalid(`${path}.nameservers`, nameservers, "must not have more than 3 nameservers");
  for (const [i, server] of nameservers.entries()) checkAddress(`${path}.nameservers[${i}]`, server, errors);
  if (searches.length > 32)
    errors.invalid(`${path}.searches`, searches, "must not have more than 32 search paths");
  if (byteLength(searches.join(" ")) > 2048)
    errors.invalid(
      `${path}.searches`,
      searches,
      "must not have more than 2048 characters (including spaces) in the search list",
    );
  for (const [i, search] of searches.entries()) {
    if (search === ".") continue;
    const domain = search.endsWith(".") ? search.slice(0, -1) : search;
    errors.messages(`${path}.searches[${i}]`, domain, searchDomain(domain));
  }
  for (const [i, option] of options.entries())
    if (!option.name) errors.required(`${path}.options[${i}]`, "must not be empty");
}

function checkGates(path: string, spec: PodSpec, errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { name }] of (spec.schedulingGates ?? []).entries()) {
    checkQualifiedName(`${path}[${i}]`, name, errors);
    if (seen.has(name)) errors.duplicate(`${path}[${i}]`, name);
    seen.add(name);
  }
}

function checkHostUsers(path: string, spec: PodSpec, rules: PodRules, errors: Errors): void {
  if (spec.hostUsers !== false) return;
  const refuse = "when `hostUsers` is false";
  if (spec.hostNetwork) errors.forbidden(`${path}.hostNetwork`, refuse);
  if (spec.hostPID) errors.forbidden(`${path}.HostPID`, refuse);
  if (spec.hostIPC) errors.forbidden(`${path}.HostIPC`, refuse);
  if (rules.allowDevicesInUserNamespace) return;
  visitContainers(spec, path, (container, at) => {
    if (container.volumeDevices?.length) errors.forbidden(`${at}.volumeDevices`, refuse);
  });
}

function checkHostName(path: string, spec: PodSpec, errors: Errors): void {
  const name = spec.hostnameOverride;
  if (name === undefined) return;
  const at = `${path}.hostnameOverride`;
  if (spec.setHostnameAsFQDN) errors.forbidden(at, "may not be specified when setHostnameAsFQDN is true");
  if (spec.hostNetwork) errors.forbidden(at, "may not be specified when hostNetwork is true");
  if (byteLength(name) > 64) errors.tooLong(at, 64);
  errors.messages(at, name, validateDns1123Subdomain(name));
}

function checkFileKeyVolumes(path: string, spec: PodSpec, errors: Errors): void {
  visitContainers(spec, path, (container, at) => {
    for (const [i, { valueFrom }] of (container.env ?? []).entries()) {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) continue;
      const field = `${at}.env[${i}].valueFrom.fileKeyRef.volumeName`;
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      if (!volume) errors.notFound(field, name);
      else if (!volume.emptyDir) errors.invalid(field, name, "referenced volume must be of type emptyDir");
    }
  });
}
