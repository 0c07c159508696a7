/** Which volume a claim gets: rules that the binder and the scheduler share. */
import { labelSelectorFrom, matchesLabels, type ObjectOf, Quantity } from "@keelson/core";
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "@keelson/core/kinds";
import { matchesNodeSelector } from "@keelson/workloads";

export type ClaimObject = ObjectOf<typeof PersistentVolumeClaim>;
export type VolumeObject = ObjectOf<typeof PersistentVolume>;
export type ClassObject = ObjectOf<typeof StorageClass>;

export const annotations = {
  bindCompleted: "pv.kubernetes.io/bind-completed",
  boundByController: "pv.kubernetes.io/bound-by-controller",
  provisionedBy: "pv.kubernetes.io/provisioned-by",
  selectedNode: "volume.kubernetes.io/selected-node",
  provisioner: "volume.kubernetes.io/storage-provisioner",
  betaProvisioner: "volume.beta.kubernetes.io/storage-provisioner",
  betaClass: "volume.beta.kubernetes.io/storage-class",
} as const;

export const noProvisioner = "kubernetes.io/no-provisioner";

/** Empty for a claim without a class. */
export function classOfClaim(claim: ClaimObject): string {
  return claim.metadata.annotations?.[annotations.betaClass] ?? claim.spec.storageClassName ?? "";
}

export function classOfVolume(volume: VolumeObject): string {
  return volume.metadata.annotations?.[annotations.betaClass] ?? volume.spec.storageClassName ?? "";
}

export function waitsForConsumer(storageClass: ClassObject | undefined): boolean {
  return storageClass?.volumeBindingMode === "WaitForFirstConsumer";
}

/** Fully bound: the claim names its volume and the binding was completed. */
export function isBound(claim: ClaimObject): boolean {
  return (
    Boolean(claim.spec.volumeName) && claim.metadata.annotations?.[annotations.bindCompleted] !== undefined
  );
}

/** Whether the volume is meant for this claim, by name and, where known, UID. */
export function isReservedFor(volume: VolumeObject, claim: ClaimObject): boolean {
  const { claimRef } = volume.spec;
  return (
    claimRef !== undefined &&
    claimRef.name === claim.metadata.name &&
    claimRef.namespace === claim.metadata.namespace &&
    (!claimRef.uid || claimRef.uid === claim.metadata.uid)
  );
}

interface Labelled {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

export function isReachableFrom(volume: VolumeObject, node: Labelled): boolean {
  const required = volume.spec.nodeAffinity?.required;
  return required === undefined || matchesNodeSelector(required, node as never);
}

export function storageOf(list: Readonly<Record<string, string | number>> | undefined): Quantity {
  return Quantity.from(list?.storage ?? 0);
}

function hasModes(volume: VolumeObject, claim: ClaimObject): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode));
}

export interface MatchOptions {
  /** Where the consumer will be; given by the scheduler only. */
  readonly node?: Labelled;
  /** Volumes that another claim of the same pod takes. */
  readonly taken?: ReadonlySet<string>;
  /** The claim waits for its consumer: without a node only a volume reserved for it will do. */
  readonly delayed?: boolean;
}

/** The smallest volume that fits, or the one that is reserved for the claim. */
export function matchingVolume(
  claim: ClaimObject,
  volumes: readonly VolumeObject[],
  { node, taken, delayed = false }: MatchOptions,
): VolumeObject | undefined {
  const wanted = storageOf(claim.spec.resources?.requests);
  const wantedClass = classOfClaim(claim);
  const selector = claim.spec.selector && labelSelectorFrom(claim.spec.selector);
  let best: VolumeObject | undefined;
  for (const volume of byModes(claim, volumes)) {
    const reserved = isReservedFor(volume, claim);
    if (taken?.has(volume.metadata.name) || (volume.spec.claimRef !== undefined && !reserved)) continue;
    if (storageOf(volume.spec.capacity).compare(wanted) < 0) continue;
    if ((volume.spec.volumeMode ?? "Filesystem") !== (claim.spec.volumeMode ?? "Filesystem")) continue;
    if (volume.metadata.deletionTimestamp !== undefined) continue;
    const reachable = node === undefined || isReachableFrom(volume, node);
    if (reserved) return reachable ? volume : undefined;
    if ((node === undefined && delayed) || volume.status?.phase !== "Available") continue;
    if (selector && !matchesLabels(selector, volume.metadata.labels)) continue;
    if (classOfVolume(volume) !== wantedClass || !reachable || !hasModes(volume, claim)) continue;
    if (best === undefined || isBetter(volume, best)) best = volume;
  }
  return best;
}

/** Fewer access modes first: what can do more is kept for who needs more. */
function isBetter(volume: VolumeObject, best: VolumeObject): boolean {
  const modes = (each: VolumeObject) => each.spec.accessModes?.length ?? 0;
  if (modes(volume) !== modes(best)) return modes(volume) < modes(best);
  return storageOf(volume.spec.capacity).compare(storageOf(best.spec.capacity)) < 0;
}

function byModes(claim: ClaimObject, volumes: readonly VolumeObject[]): VolumeObject[] {
  return volumes.filter((volume) => hasModes(volume, claim) || isReservedFor(volume, claim));
}
