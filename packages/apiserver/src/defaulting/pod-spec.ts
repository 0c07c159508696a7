/** Defaults of pod specs, wherever they stand. */
import { Quantity } from "@keelson/core";
import type {
  Container,
  ContainerPort,
  DownwardAPIVolumeFile,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  ObjectFieldSelector,
  PersistentVolumeClaimSpec,
  PodSpec,
  Probe,
  ProjectedVolumeSource,
  ResourceRequirements,
  Volume,
} from "@keelson/core/kinds";
import { pullPolicyOf } from "./image-tag.ts";

type Quantities = Record<string, string | number> | undefined;

const finerThanMilli = /[nu]$|e-/;

/** Amounts are kept in thousandths at the finest, rounded up. */
export function roundToMilli(list: Quantities): void {
  if (!list) return;
  for (const key in list) {
    const text = String(list[key]);
    if (!finerThanMilli.test(text)) continue;
    const amount = Quantity.parse(text);
    list[key] = Quantity.of(amount.scaledValue(-3), -3, amount.format).toString();
  }
}

export function roundResources(resources: ResourceRequirements | undefined): void {
  if (!resources) return;
  roundToMilli(resources.limits);
  roundToMilli(resources.requests);
}

/** The account has two names, of which one is old. */
function syncAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

export function defaultPodSpec(spec: PodSpec): void {
  syncAccount(spec);
  spec.dnsPolicy ??= "ClusterFirst";
  spec.restartPolicy ??= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ??= "default-scheduler";
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of spec.initContainers ?? []) defaultContainer(container);
  for (const container of spec.containers ?? []) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container);
  roundToMilli(spec.overhead);
  roundResources(spec.resources);
}

function defaultContainer(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ??= pullPolicyOf(container.image ?? "");
  container.terminationMessagePath ??= "/dev/termination-log";
  container.terminationMessagePolicy ??= "File";
  for (const port of (container.ports ?? []) as ContainerPort[]) port.protocol ??= "TCP";
  for (const variable of (container.env ?? []) as EnvVar[]) {
    const source = variable.valueFrom;
    if (!source) continue;
    defaultFieldRef(source.fieldRef);
    if (source.resourceFieldRef) source.resourceFieldRef.divisor ??= "0";
    if (source.fileKeyRef) source.fileKeyRef.optional ??= false;
  }
  roundResources(container.resources);
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultHook(container.lifecycle?.postStart);
  defaultHook(container.lifecycle?.preStop);
}

function defaultFieldRef(ref: ObjectFieldSelector | undefined): void {
  if (ref) ref.apiVersion ??= "v1";
}

function defaultProbe(probe: Probe | undefined): void {
  if (!probe) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= "";
}

function defaultHook(hook: LifecycleHandler | undefined): void {
  defaultHttpGet(hook?.httpGet);
}

function defaultHttpGet(action: HTTPGetAction | undefined): void {
  if (!action) return;
  action.path ??= "/";
  action.scheme ??= "HTTP";
}

const defaultMode = 0o644;

function defaultVolume(volume: Volume): void {
  let sources = 0;
  for (const key in volume) if (key !== "name") sources++;
  if (sources === 0) {
    volume.emptyDir = {};
    return;
  }
  if (volume.image) volume.image.pullPolicy ??= pullPolicyOf(volume.image.reference ?? "");
  if (volume.hostPath) volume.hostPath.type ??= "";
  if (volume.secret) volume.secret.defaultMode ??= defaultMode;
  if (volume.configMap) volume.configMap.defaultMode ??= defaultMode;
  if (volume.iscsi) volume.iscsi.iscsiInterface ??= "default";
  if (volume.rbd) {
    volume.rbd.pool ??= "rbd";
    volume.rbd.user ??= "admin";
    volume.rbd.keyring ??= "/etc/ceph/keyring";
  }
  if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= defaultMode;
    for (const item of volume.downwardAPI.items ?? []) defaultFile(item);
  }
  if (volume.azureDisk) {
    volume.azureDisk.cachingMode ??= "ReadWrite";
    volume.azureDisk.fsType ??= "ext4";
    volume.azureDisk.readOnly ??= false;
    volume.azureDisk.kind ??= "Shared";
  }
  if (volume.projected) defaultProjected(volume.projected);
  if (volume.scaleIO) {
    volume.scaleIO.storageMode ??= "ThinProvisioned";
    volume.scaleIO.fsType ??= "xfs";
  }
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim) defaultClaimSpec(claim);
}

function defaultFile(file: DownwardAPIVolumeFile): void {
  defaultFieldRef(file.fieldRef);
  if (file.resourceFieldRef) file.resourceFieldRef.divisor ??= "0";
}

function defaultProjected(projected: ProjectedVolumeSource): void {
  projected.defaultMode ??= defaultMode;
  for (const source of projected.sources ?? []) {
    for (const item of source.downwardAPI?.items ?? []) defaultFile(item);
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600;
  }
}

export function defaultClaimSpec(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= "Filesystem";
  roundToMilli(spec.resources?.limits);
  roundToMilli(spec.resources?.requests);
}
