/** What the binder does about a volume: pure rules from the volume and the claim that it points at. */
import { hasSameMode } from "./claim-decision.ts";
import { annotations, type ClaimObject, type VolumeObject } from "./matching.ts";

/**
 * - `mark`: the volume is in this phase.
 * - `release`: its claim is gone, or went elsewhere; the reclaim policy applies.
 * - `unbind`: its claim has another volume; it is free again.
 * - `mismatch`: its claim can never take it.
 * - `leave`: the claim's turn is next.
 */
export type VolumeDecision =
  | { readonly type: "mark"; readonly phase: "Available" | "Bound" }
  | { readonly type: "release" }
  | { readonly type: "unbind" }
  | { readonly type: "mismatch"; readonly claim: ClaimObject }
  | { readonly type: "leave" };

/** `claim` is the one under the name that the volume points at. */
export function decideVolume(volume: VolumeObject, claim: ClaimObject | undefined): VolumeDecision {
  const { claimRef } = volume.spec;
  // Without a UID the volume is set aside for a claim that has not taken it yet.
  if (!claimRef?.uid) return { type: "mark", phase: "Available" };
  if (claim?.metadata.uid !== claimRef.uid) return { type: "release" };
  if (!claim.spec.volumeName) {
    return hasSameMode(volume, claim) ? { type: "leave" } : { type: "mismatch", claim };
  }
  if (claim.spec.volumeName === volume.metadata.name) return { type: "mark", phase: "Bound" };
  const isMadeForClaim =
    volume.metadata.annotations?.[annotations.provisionedBy] !== undefined &&
    volume.spec.persistentVolumeReclaimPolicy === "Delete";
  return { type: isMadeForClaim ? "release" : "unbind" };
}

/** The volume free again: forgotten by us, or still set aside where a person did that. */
export function unboundVolume(volume: VolumeObject): VolumeObject {
  const { claimRef, ...spec } = volume.spec;
  const { [annotations.boundByController]: mark, ...others } = volume.metadata.annotations ?? {};
  if (mark === undefined) {
    const { uid: _, ...rest } = claimRef ?? {};
    return { ...volume, spec: { ...spec, claimRef: rest } };
  }
  const { annotations: _, ...metadata } = volume.metadata;
  const left = Object.keys(others).length > 0 ? { annotations: others } : {};
  return { ...volume, metadata: { ...metadata, ...left }, spec };
}
