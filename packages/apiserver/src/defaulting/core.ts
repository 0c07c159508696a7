/** Defaults of core/v1. */
import type {
  Container,
  Endpoints,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
} from "@keelson/core/kinds";
import { containerAmounts, isPodLevelResource } from "@keelson/workloads";
import { nearestNumber } from "../contracts/numbers.ts";
import { defaultClaimSpec, defaultPodSpec, roundToMilli } from "./pod-spec.ts";

type ResourceList = Record<string, string | number>;

export function defaultPod(pod: Pod): void {
  pod.spec ??= { containers: [] };
  const spec = pod.spec;
  for (const container of spec.containers ?? []) requestsFromLimits(container);
  for (const container of spec.initContainers ?? []) requestsFromLimits(container);
  if (spec.resources) defaultPodLevelResources(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) {
    for (const container of spec.containers ?? []) hostPortsFromContainerPorts(container);
    for (const container of spec.initContainers ?? []) hostPortsFromContainerPorts(container);
  }
  defaultPodSpec(spec);
  if (nearestNumber(spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  if (pod.status) syncAddresses(pod.status);
}

/** The singular field wins where it differs from the first of the plural. */
function syncAddresses(status: PodStatus): void {
  if (status.podIP && status.podIP !== status.podIPs?.[0]?.ip) status.podIPs = [{ ip: status.podIP }];
  const first = status.podIPs?.[0]?.ip;
  if (first) status.podIP = first;
}

function requestsFromLimits(container: Container): void {
  const resources = container.resources;
  if (!resources?.limits) return;
  resources.requests ??= {};
  const requests = resources.requests;
  for (const key in resources.limits)
    if (requests[key] === undefined) requests[key] = resources.limits[key] as string;
}

function hostPortsFromContainerPorts(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}

function defaultPodLevelResources(spec: PodSpec): void {
  const resources = spec.resources;
  if (!resources) return;
  const limits: ResourceList = resources.limits ?? {};
  const requests: ResourceList = resources.requests ?? {};
  if (Object.keys(limits).length > 0 || Object.keys(requests).length > 0) {
    for (const [name, amount] of containerAmounts(spec, "limits"))
      if (name.startsWith("hugepages-") && !(name in requests)) limits[name] ??= amount.toString();
    if (Object.keys(limits).length > 0) resources.limits = limits;
  }
  if (!resources.limits) return;
  for (const [name, amount] of containerAmounts(spec, "requests"))
    if (name === "cpu" || name === "memory") requests[name] ??= amount.toString();
  for (const name in limits) if (isPodLevelResource(name)) requests[name] ??= limits[name] as string;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

export function defaultPodTemplate(object: PodTemplate): void {
  if (object.template?.spec) defaultPodSpec(object.template.spec);
}

export function defaultReplicationController(rc: ReplicationController): void {
  rc.spec ??= {};
  const spec = rc.spec;
  const labels = spec.template?.metadata?.labels;
  if (labels) {
    if (!spec.selector || Object.keys(spec.selector).length === 0) spec.selector = { ...labels };
    const meta = rc.metadata;
    if (meta && (!meta.labels || Object.keys(meta.labels).length === 0)) meta.labels = { ...labels };
  }
  spec.replicas ??= 1;
  if (spec.template?.spec) defaultPodSpec(spec.template.spec);
}

export function defaultService(service: Service): void {
  service.spec ??= {};
  const spec = service.spec;
  spec.sessionAffinity ??= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  else if (
    spec.sessionAffinity === "ClientIP" &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  )
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10800 } };
  spec.type ??= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ??= "TCP";
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === "")
      port.targetPort = port.port;
  }
  const { type } = spec;
  const external =
    type === "LoadBalancer" || type === "NodePort" || (type === "ClusterIP" && spec.externalIPs?.length);
  if (external) spec.externalTrafficPolicy ??= "Cluster";
  if (type === "NodePort" || type === "LoadBalancer" || type === "ClusterIP")
    spec.internalTrafficPolicy ??= "Cluster";
  if (type !== "LoadBalancer") return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of service.status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
}

export function defaultSecret(secret: Secret): void {
  const { stringData } = secret;
  if (stringData && Object.keys(stringData).length > 0) {
    const data: Record<string, string> = { ...secret.data };
    for (const key in stringData) data[key] = Buffer.from(stringData[key] as string).toString("base64");
    secret.data = sorted(data);
  }
  delete secret.stringData;
  secret.type ??= "Opaque";
}

function sorted<T>(map: Record<string, T>): Record<string, T> {
  return Object.fromEntries(
    Object.keys(map)
      .sort()
      .map((key) => [key, map[key] as T]),
  );
}

export function defaultPersistentVolume(volume: PersistentVolume): void {
  volume.status ??= {};
  const status = volume.status;
  status.phase ??= "Pending";
  volume.spec ??= {};
  const spec = volume.spec;
  spec.persistentVolumeReclaimPolicy ??= "Retain";
  spec.volumeMode ??= "Filesystem";
  roundToMilli(spec.capacity);
  if (spec.hostPath) spec.hostPath.type ??= "";
  if (spec.iscsi) spec.iscsi.iscsiInterface ??= "default";
  if (spec.rbd) {
    spec.rbd.pool ??= "rbd";
    spec.rbd.user ??= "admin";
    spec.rbd.keyring ??= "/etc/ceph/keyring";
  }
  if (spec.azureDisk) {
    spec.azureDisk.cachingMode ??= "ReadWrite";
    spec.azureDisk.fsType ??= "ext4";
    spec.azureDisk.readOnly ??= false;
    spec.azureDisk.kind ??= "Shared";
  }
  if (spec.scaleIO) {
    spec.scaleIO.storageMode ??= "ThinProvisioned";
    spec.scaleIO.fsType ??= "xfs";
  }
}

export function defaultPersistentVolumeClaim(claim: PersistentVolumeClaim): void {
  claim.status ??= {};
  const status = claim.status;
  status.phase ??= "Pending";
  claim.spec ??= {};
  defaultClaimSpec(claim.spec);
  roundToMilli(status.capacity);
}

export function defaultEndpoints(endpoints: Endpoints): void {
  for (const subset of endpoints.subsets ?? [])
    for (const port of subset.ports ?? []) port.protocol ??= "TCP";
}

const namespaceLabel = "kubernetes.io/metadata.name";

export function defaultNamespace(namespace: Namespace): void {
  const meta = namespace.metadata;
  if (meta?.name && meta.labels?.[namespaceLabel] !== meta.name)
    meta.labels = { ...meta.labels, [namespaceLabel]: meta.name };
  namespace.status ??= {};
  const status = namespace.status;
  status.phase ??= "Active";
}

export function defaultNode(node: Node): void {
  node.status ??= {};
  const status = node.status;
  if (status.allocatable === undefined && status.capacity !== undefined)
    status.allocatable = { ...status.capacity };
  roundToMilli(status.capacity);
  roundToMilli(status.allocatable);
}

export function defaultLimitRange(range: LimitRange): void {
  for (const item of range.spec?.limits ?? []) {
    if (item.type === "Container") {
      const limit: ResourceList = { ...item.max, ...item.default };
      const request: ResourceList = { ...item.min, ...limit, ...item.defaultRequest };
      if (Object.keys(limit).length > 0) item.default = limit;
      if (Object.keys(request).length > 0) item.defaultRequest = request;
    }
    roundToMilli(item.max);
    roundToMilli(item.min);
    roundToMilli(item.default);
    roundToMilli(item.defaultRequest);
    roundToMilli(item.maxLimitRequestRatio);
  }
}

export function defaultResourceQuota(quota: ResourceQuota): void {
  roundToMilli(quota.spec?.hard);
  roundToMilli(quota.status?.hard);
  roundToMilli(quota.status?.used);
}
