/** What the binder does about a claim: pure rules from the claim, its class and the volumes there are. */
import { compareBytes } from "@keelson/core/internal";
import {
  annotations,
  type ClaimObject,
  type ClassObject,
  classOfClaim,
  classOfVolume,
  isReservedFor,
  matchingVolume,
  noProvisioner,
  storageOf,
  type VolumeObject,
  waitsForConsumer,
} from "./matching.ts";

export interface Told {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/**
 * - `bind`: the claim gets this volume, or has it and its marks are completed.
 * - `provision`: a provisioner is asked for a volume.
 * - `assign`: the claim gets the default class, and is looked at again.
 * - `wait`: the claim stays pending.
 * - `lose`: what the claim was bound to is gone for good.
 */
export type ClaimDecision =
  | { readonly type: "bind"; readonly volume: VolumeObject }
  | { readonly type: "provision"; readonly provisioner: string }
  | { readonly type: "assign"; readonly storageClass: string }
  | { readonly type: "wait"; readonly told?: Told }
  | { readonly type: "lose"; readonly told: Told };

export interface ClaimSurroundings {
  readonly volume: (name: string) => VolumeObject | undefined;
  /** Volumes of the claim's class, and those reserved for the claim. */
  readonly candidates: readonly VolumeObject[];
  readonly classes: readonly ClassObject[];
  /** Names of pods that use the claim and have no node yet. */
  readonly unscheduledPods: readonly string[];
}

export function decideClaim(claim: ClaimObject, around: ClaimSurroundings): ClaimDecision {
  if (claim.metadata.annotations?.[annotations.bindCompleted] !== undefined)
    return decideBound(claim, around);
  return claim.spec.volumeName
    ? decideRequested(claim, claim.spec.volumeName, around)
    : decideUnbound(claim, around);
}

function warning(reason: string, message: string): Told {
  return { type: "Warning", reason, message };
}

function decideBound(claim: ClaimObject, { volume: find }: ClaimSurroundings): ClaimDecision {
  const name = claim.spec.volumeName;
  const lost = (what: string) =>
    ({
      type: "lose",
      told: warning("ClaimLost", `Bound claim has lost ${what}. Data on the volume is lost!`),
    }) as const;
  if (!name) return lost("reference to PersistentVolume");
  const volume = find(name);
  if (!volume) return lost("its PersistentVolume");
  const { claimRef } = volume.spec;
  if (claimRef === undefined || claimRef.uid === claim.metadata.uid) return { type: "bind", volume };
  const message = "Two claims are bound to the same volume, this one is bound incorrectly";
  return { type: "lose", told: warning("ClaimMisbound", message) };
}

function decideRequested(
  claim: ClaimObject,
  name: string,
  { volume: find }: ClaimSurroundings,
): ClaimDecision {
  const volume = find(name);
  if (!volume) return { type: "wait" };
  if (volume.spec.claimRef === undefined) {
    const unfit = misfit(volume, claim);
    if (unfit === undefined) return { type: "bind", volume };
    const message = `Cannot bind to requested volume ${JSON.stringify(name)}: ${unfit}`;
    return { type: "wait", told: warning("VolumeMismatch", message) };
  }
  if (isReservedFor(volume, claim)) return { type: "bind", volume };
  const message = `volume ${JSON.stringify(name)} already bound to a different claim.`;
  return { type: "wait", told: warning("FailedBinding", message) };
}

/** Why a volume that the claim asks for by name cannot be had. */
function misfit(volume: VolumeObject, claim: ClaimObject): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`;
  }
  if (storageOf(volume.spec.capacity).compare(storageOf(claim.spec.resources?.requests)) < 0) {
    return "requested PV is too small";
  }
  if (classOfVolume(volume) !== classOfClaim(claim)) return "storageClassName does not match";
  if ((volume.spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? "")) {
    return "volumeAttributesClassName does not match";
  }
  if (!hasSameMode(volume, claim)) return "incompatible volumeMode";
  const hasModes = (claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode));
  return hasModes ? undefined : "incompatible accessMode";
}

/** Whether both are file systems or both are block devices. */
export function hasSameMode(volume: VolumeObject, claim: ClaimObject): boolean {
  return (volume.spec.volumeMode ?? "Filesystem") === (claim.spec.volumeMode ?? "Filesystem");
}

function decideUnbound(claim: ClaimObject, around: ClaimSurroundings): ClaimDecision {
  const className = classOfClaim(claim);
  const storageClass = around.classes.find(({ metadata }) => metadata.name === className);
  const delayed = waitsForConsumer(storageClass);
  const volume = matchingVolume(claim, around.candidates, { delayed });
  if (volume) return { type: "bind", volume };
  if (!hasClass(claim)) {
    const byDefault = defaultClass(around.classes);
    if (byDefault) return { type: "assign", storageClass: byDefault.metadata.name };
  }
  if (delayed && !claim.metadata.annotations?.[annotations.selectedNode]) {
    return { type: "wait", told: waiting(around.unscheduledPods) };
  }
  if (className === "") {
    const message = "no persistent volumes available for this claim and no storage class is set";
    return { type: "wait", told: { type: "Normal", reason: "FailedBinding", message } };
  }
  if (!storageClass) {
    const message = `storageclass.storage.k8s.io ${JSON.stringify(className)} not found`;
    return { type: "wait", told: warning("ProvisioningFailed", message) };
  }
  if (storageClass.provisioner === noProvisioner || isInTree(storageClass.provisioner)) {
    const message = `no volume plugin matched name: ${storageClass.provisioner}`;
    return { type: "wait", told: warning("ProvisioningFailed", message) };
  }
  return { type: "provision", provisioner: storageClass.provisioner };
}

/** A name that was once built into Kubernetes: nobody else may answer to it. */
function isInTree(provisioner: string): boolean {
  return provisioner.startsWith("kubernetes.io/");
}

function hasClass(claim: ClaimObject): boolean {
  return (
    claim.spec.storageClassName !== undefined ||
    claim.metadata.annotations?.[annotations.betaClass] !== undefined
  );
}

function waiting(pods: readonly string[]): Told {
  if (pods.length === 0) {
    const message = "waiting for first consumer to be created before binding";
    return { type: "Normal", reason: "WaitForFirstConsumer", message };
  }
  const message = `waiting for pod${pods.length > 1 ? "s" : ""} ${pods.join(",")} to be scheduled`;
  return { type: "Normal", reason: "WaitForPodScheduled", message };
}

const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** The class of claims that name none: the newest of those marked so, among equals the first by name. */
export function defaultClass(classes: readonly ClassObject[]): ClassObject | undefined {
  return classes
    .filter(({ metadata }) => defaultMarks.some((mark) => metadata.annotations?.[mark] === "true"))
    .toSorted(
      (a, b) =>
        compareBytes(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
        compareBytes(a.metadata.name, b.metadata.name),
    )
    .at(0);
}
