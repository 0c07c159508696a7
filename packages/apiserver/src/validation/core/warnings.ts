/** What the client is told about a pod spec that is accepted and probably not meant so. */
import { deepEqual, type ObjectMeta, Quantity, validateLabelValue } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type {
  AppArmorProfile,
  Container,
  ContainerPort,
  KeyToPath,
  NodeSelectorTerm,
  PersistentVolumeClaimSpec,
  PodSpec,
  Volume,
} from "@keelson/core/kinds";
import { addressWarnings } from "../checks/addresses.ts";
import { visitContainers } from "./all-containers.ts";
import { appArmorContainer, seccompContainer, seccompPod } from "./annotations.ts";

const deprecatedLabels: Readonly<Record<string, string>> = lookupTable({
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
});

/** What is wrong with a node label, if it is one of the old ones. */
export function deprecatedNodeLabel(key: string): string | undefined {
  return deprecatedLabels[key];
}

const deprecatedAnnotations: readonly [key: string, message: string][] = [
  [
    "scheduler.alpha.kubernetes.io/critical-pod",
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  [
    "security.alpha.kubernetes.io/unsafe-sysctls",
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
];

const deprecatedVolumes: readonly [field: keyof Volume, shown: string, message: string][] = [
  ["photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"],
];

/** `path` is empty for a pod and `spec.template` for a template. */
export function podWarnings(path: string, spec: PodSpec, meta: ObjectMeta): string[] {
  const warnings: string[] = [];
  const within = path ? `${path}.` : "";
  const at = `${within}spec`;
  const annotations = meta.annotations ?? {};
  nodeWarnings(at, spec, warnings);
  for (const [key, message] of deprecatedAnnotations)
    if (key in annotations) warnings.push(`${within}metadata.annotations[${key}]: ${message}`);
  volumeWarnings(at, spec, warnings);
  listWarnings(at, spec, warnings);
  for (const resource of ["memory", "ephemeral-storage"])
    fractional(`${at}.overhead`, spec.overhead, resource, warnings);
  if (!spec.securityContext?.seccompProfile && seccompPod in annotations)
    warnings.push(
      `${within}metadata.annotations[${seccompPod}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
    );
  visitContainers(spec, at, (container, own) => {
    annotationWarnings(within, path !== "", container, spec, annotations, warnings);
    containerWarnings(own, container, warnings);
  });
  portWarnings(at, spec, warnings);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    warnings.push(
      `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  affinityWarnings(at, spec, warnings);
  for (const [i, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    warnings.push(...addressWarnings(`${at}.dnsConfig.nameservers[${i}]`, server));
  for (const [i, { ip }] of (spec.hostAliases ?? []).entries())
    warnings.push(...addressWarnings(`${at}.hostAliases[${i}].ip`, ip));
  return warnings;
}

function nodeWarnings(path: string, spec: PodSpec, warnings: string[]): void {
  for (const key in spec.nodeSelector) {
    const message = deprecatedNodeLabel(key);
    if (message) warnings.push(`${path}.nodeSelector[${key}]: ${message}`);
  }
  const affinity = spec.affinity?.nodeAffinity;
  if (affinity) {
    const at = `${path}.affinity.nodeAffinity`;
    const required = affinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
    for (const [i, term] of required.entries())
      warnings.push(
        ...termWarnings(
          `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${i}]`,
          term,
          false,
        ),
      );
    for (const [i, term] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      warnings.push(
        ...termWarnings(
          `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].preference`,
          term.preference,
          true,
        ),
      );
  }
  for (const [i, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = `${path}.topologySpreadConstraints[${i}]`;
    const message = deprecatedNodeLabel(constraint.topologyKey);
    if (message) warnings.push(`${at}.topologyKey: ${constraint.topologyKey} is ${message}`);
    if (!constraint.labelSelector)
      warnings.push(`${at}.labelSelector: a null labelSelector results in matching no pod`);
  }
}

export function termWarnings(path: string, term: NodeSelectorTerm, checkValues: boolean): string[] {
  const warnings: string[] = [];
  for (const [i, { key, values = [] }] of (term.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${i}]`;
    const message = deprecatedNodeLabel(key);
    if (message) warnings.push(`${at}.key: ${key} is ${message}`);
    if (!checkValues) continue;
    for (const [j, value] of values.entries())
      for (const problem of validateLabelValue(value))
        warnings.push(`${at}.values[${j}]: ${value} is invalid, ${problem}`);
  }
  return warnings;
}

function volumeWarnings(path: string, spec: PodSpec, warnings: string[]): void {
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    const at = `${path}.volumes[${i}]`;
    for (const [field, shown, message] of deprecatedVolumes)
      if (volume[field] !== undefined) warnings.push(`${at}.${shown}: ${message}`);
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim) warnings.push(...claimSpecWarnings(`${at}.ephemeral.volumeClaimTemplate.spec`, claim));
  }
  for (const volume of spec.volumes ?? []) overlapWarnings(volume, warnings);
}

export function claimSpecWarnings(path: string, spec: PersistentVolumeClaimSpec): string[] {
  const warnings: string[] = [];
  fractional(`${path}.resources.requests`, spec.resources?.requests, "storage", warnings);
  fractional(`${path}.resources.limits`, spec.resources?.limits, "storage", warnings);
  return warnings;
}

function fractional(
  path: string,
  list: Readonly<Record<string, string | number>> | undefined,
  resource: string,
  warnings: string[],
): void {
  const value = list?.[resource];
  // Only a value with a suffix below one, or a fraction, can be no integer.
  if (value === undefined || !/[mnu.]|e-/.test(String(value))) return;
  if (Quantity.from(value).milliValue() % 1000n !== 0n)
    warnings.push(
      `${path}[${resource}]: fractional byte value ${JSON.stringify(String(value))} is invalid, must be an integer`,
    );
}

interface PathAndSource {
  readonly path: string;
  readonly source: string;
}

function overlapWarnings(volume: Volume, warnings: string[]): void {
  const warn = (what: string, body: string) =>
    warnings.push(`volume ${JSON.stringify(volume.name)} (${what}): overlapping paths: ${body}`);
  const { configMap, secret, downwardAPI, projected } = volume;
  const plain = (items: readonly { path: string }[] | undefined) =>
    (items ?? []).map(({ path }) => ({ path, source: "" }));
  if (configMap?.items)
    for (const overlap of overlaps(plain(configMap.items)))
      warn(`ConfigMap ${JSON.stringify(configMap.name)}`, overlap);
  if (secret?.items)
    for (const overlap of overlaps(plain(secret.items)))
      warn(`Secret ${JSON.stringify(secret.secretName)}`, overlap);
  if (downwardAPI?.items)
    for (const overlap of overlaps(plain(downwardAPI.items))) warn("DownwardAPI", overlap);
  if (!projected) return;
  const all: PathAndSource[] = [];
  for (const source of projected.sources ?? []) {
    if (Object.keys(source).length === 0) {
      warnings.push(`volume ${JSON.stringify(volume.name)} (Projected) has no sources provided`);
      continue;
    }
    const keyed = (items: readonly KeyToPath[] | undefined, name: string) =>
      (items ?? []).map(({ path }) => ({ path, source: name }));
    if (source.configMap)
      all.push(...keyed(source.configMap.items, `ConfigMap ${JSON.stringify(source.configMap.name)}`));
    else if (source.secret)
      all.push(...keyed(source.secret.items, `Secret ${JSON.stringify(source.secret.name)}`));
    else if (source.downwardAPI)
      all.push(...(source.downwardAPI.items ?? []).map(({ path }) => ({ path, source: "DownwardAPI" })));
    else if (source.serviceAccountToken)
      all.push({ path: source.serviceAccountToken.path, source: "ServiceAccountToken" });
    else if (source.clusterTrustBundle) {
      const { name, signerName, path } = source.clusterTrustBundle;
      all.push({ path, source: `ClusterTrustBundle ${JSON.stringify(name ?? signerName ?? "")}` });
    }
  }
  for (const overlap of overlaps(all)) warn("Projected", overlap);
}

function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function overlaps(paths: readonly PathAndSource[]): string[] {
  const shown = ({ path, source }: PathAndSource) =>
    source ? `${JSON.stringify(path)} (${source})` : JSON.stringify(path);
  const found: string[] = [];
  const seen: PathAndSource[] = [];
  for (const entry of paths) {
    const own = { ...entry, path: withoutTrailingSlashes(entry.path) };
    if (own.path !== "")
      for (const other of seen)
        if (
          other.path !== "" &&
          (`${other.path}/`.startsWith(`${own.path}/`) || `${own.path}/`.startsWith(`${other.path}/`))
        )
          found.push(`${shown(own)} with ${shown(other)}`);
    seen.push(own);
  }
  return found;
}

function listWarnings(path: string, spec: PodSpec, warnings: string[]): void {
  const aliases = new Set<string>();
  for (const [i, { ip }] of (spec.hostAliases ?? []).entries()) {
    if (aliases.has(ip)) warnings.push(`${path}.hostAliases[${i}].ip: duplicate ip ${JSON.stringify(ip)}`);
    aliases.add(ip);
  }
  const secrets = new Set<string>();
  for (const [i, { name = "" }] of (spec.imagePullSecrets ?? []).entries()) {
    if (secrets.has(name))
      warnings.push(`${path}.imagePullSecrets[${i}].name: duplicate name ${JSON.stringify(name)}`);
    secrets.add(name);
  }
  for (const [i, { name = "" }] of (spec.imagePullSecrets ?? []).entries())
    if (name === "") warnings.push(`${path}.imagePullSecrets[${i}].name: invalid empty name ""`);
}

function annotationWarnings(
  within: string,
  isTemplate: boolean,
  container: Container,
  spec: PodSpec,
  annotations: Readonly<Record<string, string>>,
  warnings: string[],
): void {
  const seccomp = seccompContainer + container.name;
  if (!container.securityContext?.seccompProfile && seccomp in annotations)
    warnings.push(
      `${within}metadata.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
    );
  const key = appArmorContainer + container.name;
  const profile = annotations[key];
  if (!isTemplate || container.securityContext?.appArmorProfile || profile === undefined) return;
  const own = spec.securityContext?.appArmorProfile;
  if (!own || !deepEqual(own, appArmorField(profile)))
    warnings.push(
      `${within}metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    );
}

/** The field that says what an old annotation says. */
export function appArmorField(annotation: string): AppArmorProfile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === "runtime/default") return { type: "RuntimeDefault" };
  const name = annotation.startsWith("localhost/") ? annotation.slice("localhost/".length) : "";
  return name ? { type: "Localhost", localhostProfile: name } : undefined;
}

function containerWarnings(path: string, container: Container, warnings: string[]): void {
  const { limits, requests } = container.resources ?? {};
  for (const resource of ["memory", "ephemeral-storage"]) {
    fractional(`${path}.resources.limits`, limits, resource, warnings);
    fractional(`${path}.resources.requests`, requests, resource, warnings);
  }
  const env = container.env ?? [];
  if (env.length < 2) return;
  const names = new Set<string>();
  for (const [i, { name, value = "", valueFrom }] of env.entries()) {
    const reference = `$(${name})`;
    if (!names.has(name)) names.add(name);
    else if (valueFrom || value === reference || !value.includes(reference))
      warnings.push(
        `${path}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
  }
}

function portWarnings(path: string, spec: PodSpec, warnings: string[]): void {
  const all = new Map<string, { field: string; port: ContainerPort }[]>();
  visitContainers(spec, path, (container, own) => {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const field = `${own}.ports[${i}]`;
      const { hostIP = "", hostPort = 0 } = port;
      if (hostIP !== "" && hostPort === 0)
        warnings.push(
          `${field}: hostIP set without hostPort: {Name:${port.name ?? ""} HostPort:0 ContainerPort:${port.containerPort} Protocol:${port.protocol} HostIP:${hostIP}}`,
        );
      const key = `${port.containerPort}/${port.protocol}`;
      const others = all.get(key) ?? [];
      for (const other of others) {
        const { hostIP: otherIP = "", hostPort: otherPort = 0 } = other.port;
        if (hostIP === otherIP && hostPort === otherPort)
          warnings.push(`${field}: duplicate port definition with ${other.field}`);
        else if (hostPort === 0 || otherPort === 0)
          warnings.push(`${field}: overlapping port definition with ${other.field}`);
        else if (hostPort === otherPort && (hostIP === "") !== (otherIP === ""))
          warnings.push(`${field}: dangerously ambiguous port definition with ${other.field}`);
      }
      all.set(key, [...others, { field, port }]);
    }
  });
  const names = new Map<string, string>();
  visitContainers(spec, path, (container, own) => {
    for (const [i, { name }] of (container.ports ?? []).entries()) {
      if (!name) continue;
      const field = `${own}.ports[${i}]`;
      const other = names.get(name);
      if (other)
        warnings.push(
          `${field}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`,
        );
      else names.set(name, field);
    }
  });
}

function affinityWarnings(path: string, spec: PodSpec, warnings: string[]): void {
  for (const field of ["podAffinity", "podAntiAffinity"] as const) {
    const terms = spec.affinity?.[field];
    const at = `${path}.affinity.${field}`;
    for (const [i, term] of (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      if (!term.labelSelector)
        warnings.push(
          `${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: a null labelSelector results in matching no pod`,
        );
    for (const [i, term] of (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
      if (!term.podAffinityTerm?.labelSelector)
        warnings.push(
          `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod`,
        );
  }
}
