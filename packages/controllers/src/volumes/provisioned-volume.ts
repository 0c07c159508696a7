/** Volumes that the local provisioner makes: directories on the machine that all nodes of the cluster share. */
import { join, relative } from "node:path";
import type { InputOf, ObjectOf } from "@keelson/core";
import type { Node, PersistentVolume } from "@keelson/core/kinds";
import { annotations, type ClaimObject, type ClassObject, type VolumeObject } from "./matching.ts";

/** The name by which storage classes ask for these volumes. */
export const localProvisioner = "keelson.dev/local";

/** Keeps a volume's object until its directory was removed, in whatever order claim and volume are deleted. */
export const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";

/** What the node looks for: a volume that holds no more than its capacity. */
const cappedAnnotation = "node.keelson.dev/capped";

export interface VolumeWish {
  readonly claim: ClaimObject;
  readonly storageClass: ClassObject;
  /** Directory of all volumes. */
  readonly directory: string;
  /** Where the claim's first pod will be; given for classes that wait for it. */
  readonly node?: ObjectOf<typeof Node>;
}

/**
 * The class's parameters: `capped: "true"` limits the volume's space to its capacity. A class that waits for the first
 * consumer ties its volumes to that pod's node; otherwise every node reaches them.
 */
export function provisionedVolume({
  claim,
  storageClass,
  directory,
  node,
}: VolumeWish): InputOf<typeof PersistentVolume> {
  const { name, namespace = "", uid, resourceVersion } = claim.metadata;
  const storage = claim.spec.resources?.requests?.storage ?? "0";
  const isCapped = storageClass.parameters?.capped === "true";
  const hostname = node && (node.metadata.labels?.["kubernetes.io/hostname"] ?? node.metadata.name);
  const required = (value: string) => ({
    nodeSelectorTerms: [
      { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In" as const, values: [value] }] },
    ],
  });
  return {
    metadata: {
      name: volumeNameFor(claim),
      annotations: {
        [annotations.provisionedBy]: localProvisioner,
        ...(isCapped ? { [cappedAnnotation]: "true" } : {}),
      },
      finalizers: [provisionerFinalizer],
    },
    spec: {
      capacity: { storage },
      accessModes: [...(claim.spec.accessModes ?? [])],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: storageClass.metadata.name,
      volumeMode: "Filesystem",
      ...(storageClass.mountOptions ? { mountOptions: [...storageClass.mountOptions] } : {}),
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion },
      hostPath: {
        path: join(directory, `${volumeNameFor(claim)}_${namespace}_${name}`),
        type: "DirectoryOrCreate",
      },
      ...(hostname ? { nodeAffinity: { required: required(hostname) } } : {}),
    },
  };
}

export function volumeNameFor({ metadata }: ClaimObject): string {
  return `pvc-${metadata.uid}`;
}

export function isOurs(volume: VolumeObject): boolean {
  return volume.metadata.annotations?.[annotations.provisionedBy] === localProvisioner;
}

/** The directory to remove with a volume; undefined when it is none that we could have made. */
export function directoryOf({ metadata, spec }: VolumeObject, parent: string): string | undefined {
  const path = spec.hostPath?.path;
  if (path === undefined) return undefined;
  const inside = relative(parent, path);
  return inside.startsWith(`${metadata.name}_`) && !inside.includes("/") ? path : undefined;
}
