/** Writes of phases, and of the bond between a volume and a claim. */
import { deepEqual } from "@keelson/core";
import {
  PersistentVolume,
  PersistentVolumeClaim,
  type PersistentVolumeClaimStatus,
} from "@keelson/core/kinds";
import type { Acting } from "../acting/acting.ts";
import { annotations, type ClaimObject, type VolumeObject } from "./matching.ts";
import { reservedVolume } from "./reservation.ts";

export async function markVolume(
  acting: Acting,
  volume: VolumeObject,
  phase: "Available" | "Bound" | "Released" | "Failed",
  message?: string,
): Promise<VolumeObject> {
  if (volume.status?.phase === phase) return volume;
  const { message: _, ...before } = volume.status ?? {};
  const status = { ...before, phase, ...(message ? { message } : {}) };
  return await acting
    .kind(PersistentVolume)
    .subresource("status")
    .update({ ...volume, status });
}

/** Completes the bond, volume first: a volume that points at a claim is the claim's, whatever happens next. */
export async function bind(acting: Acting, volume: VolumeObject, claim: ClaimObject): Promise<void> {
  const reserved = reservedVolume(volume, claim);
  const saved = reserved === volume ? volume : await acting.kind(PersistentVolume).update(reserved);
  const bound = await markVolume(acting, saved, "Bound");
  const completed = boundClaim(claim, bound.metadata.name);
  const named = completed === claim ? claim : await acting.kind(PersistentVolumeClaim).update(completed);
  await markClaim(acting, named, "Bound", bound);
}

/** The claim with its volume's name and the marks of a completed bond. */
export function boundClaim(claim: ClaimObject, volumeName: string): ClaimObject {
  const marks: Record<string, string> = {};
  const existing = claim.metadata.annotations ?? {};
  if (claim.spec.volumeName !== volumeName && existing[annotations.boundByController] === undefined) {
    marks[annotations.boundByController] = "yes";
  }
  if (existing[annotations.bindCompleted] === undefined) marks[annotations.bindCompleted] = "yes";
  if (claim.spec.volumeName === volumeName && Object.keys(marks).length === 0) return claim;
  return {
    ...claim,
    metadata: { ...claim.metadata, annotations: { ...existing, ...marks } },
    spec: { ...claim.spec, volumeName },
  };
}

/** Returns whether something changed. */
export async function markClaim(
  acting: Acting,
  claim: ClaimObject,
  phase: "Pending" | "Bound" | "Lost",
  volume?: VolumeObject,
): Promise<boolean> {
  const status = claimStatus(claim, phase, volume);
  if (deepEqual(claim.status ?? {}, status)) return false;
  await acting
    .kind(PersistentVolumeClaim)
    .subresource("status")
    .update({ ...claim, status });
  return true;
}

/** What a claim's status says of its volume. The capacity is the volume's when they meet, and grows on its own later. */
export function claimStatus(
  claim: ClaimObject,
  phase: "Pending" | "Bound" | "Lost",
  volume?: VolumeObject,
): PersistentVolumeClaimStatus {
  const { accessModes: _, capacity, currentVolumeAttributesClassName, ...rest } = claim.status ?? {};
  if (!volume) return { ...rest, phase };
  const isMeeting = claim.status?.phase !== phase;
  const attributes = isMeeting ? volume.spec.volumeAttributesClassName : currentVolumeAttributesClassName;
  return {
    ...rest,
    phase,
    ...(volume.spec.accessModes ? { accessModes: volume.spec.accessModes } : {}),
    ...(isMeeting ? { capacity: volume.spec.capacity ?? {} } : capacity ? { capacity } : {}),
    ...(attributes === undefined ? {} : { currentVolumeAttributesClassName: attributes }),
  };
}
