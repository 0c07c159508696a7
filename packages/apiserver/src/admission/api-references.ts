/** Which objects of the API a pod refers to: a mirror pod must refer to none. */
import type { PodSpec, ProjectedVolumeSource, Volume } from "@keelson/core/kinds";

/** What the pod refers to first, in the server's words; undefined when it stands by itself. */
export function apiReferenceOf(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return "serviceaccounts";
  if (refersTo(spec, "secret")) return "secrets";
  if (refersTo(spec, "configMap")) return "configmaps";
  if (spec.resourceClaims?.length) return "resourceclaims";
  for (const volume of spec.volumes ?? []) {
    const found = volumeReference(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function refersTo(spec: PodSpec, what: "secret" | "configMap"): boolean {
  if (what === "secret" && spec.imagePullSecrets?.length) return true;
  const containers = [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  const [envKey, fromKey] = [`${what}KeyRef`, `${what}Ref`] as const;
  return (
    containers.some(
      ({ env, envFrom }) =>
        env?.some(({ valueFrom }) => valueFrom?.[envKey] !== undefined) ||
        envFrom?.some((source) => source[fromKey] !== undefined),
    ) ||
    (spec.volumes ?? []).some((volume) =>
      what === "secret" ? hasSecret(volume) : volume.configMap !== undefined || projects(volume, what),
    )
  );
}

function hasSecret(volume: Volume): boolean {
  const { secret, csi, iscsi, rbd, cephfs, cinder, flexVolume, scaleIO, storageos, azureFile } = volume;
  return (
    secret !== undefined ||
    azureFile?.secretName !== undefined ||
    csi?.nodePublishSecretRef !== undefined ||
    [iscsi, rbd, cephfs, cinder, flexVolume, scaleIO, storageos].some((source) => source?.secretRef) ||
    projects(volume, "secret")
  );
}

function projects({ projected }: Volume, what: "secret" | "configMap"): boolean {
  return projected?.sources?.some((source) => source[what] !== undefined) ?? false;
}

/** Volumes that need nothing of the API. */
const independent: readonly (keyof Volume)[] = [
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];

function volumeReference(volume: Volume): string | undefined {
  if (independent.some((kind) => volume[kind] !== undefined)) return undefined;
  if (volume.csi) return "csidrivers (via CSI volumes)";
  if (volume.glusterfs) return "endpoints (via glusterFS volumes)";
  if (volume.persistentVolumeClaim) return "persistentvolumeclaims";
  if (volume.ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
  if (volume.azureFile) return "secrets (via azureFile volumes)";
  if (volume.projected) return projectedReference(volume.projected);
  return `an unknown volume type for volume ${JSON.stringify(volume.name)}`;
}

function projectedReference({ sources = [] }: ProjectedVolumeSource): string | undefined {
  for (const source of sources ?? []) {
    if (source.serviceAccountToken) return "serviceaccounts (via projected volumes)";
    if (source.clusterTrustBundle) return "clustertrustbundles";
    if (source.podCertificate) return "podcertificates";
  }
  return undefined;
}
