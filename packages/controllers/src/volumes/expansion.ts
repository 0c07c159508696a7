/** Growth of a bound claim: what the volume and the claim's status say when more is asked for. */
import { deepEqual } from "@keelson/core";
import type { PersistentVolumeClaimStatus } from "@keelson/core/kinds";
import { type ClaimObject, isBound, storageOf, type VolumeObject } from "./matching.ts";

export interface Expansion {
  /** The volume with more room; undefined when it has enough. */
  readonly volume?: VolumeObject;
  readonly status: PersistentVolumeClaimStatus;
}

const passing = new Set(["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"]);

/** Undefined when nothing is left to do. A directory grows by being said to: there is no step between. */
export function expansionOf(claim: ClaimObject, volume: VolumeObject): Expansion | undefined {
  const wanted = claim.spec.resources?.requests?.storage;
  if (!isBound(claim) || claim.status?.phase !== "Bound" || wanted === undefined) return undefined;
  const request = storageOf(claim.spec.resources?.requests);
  const isVolumeSmall = storageOf(volume.spec.capacity).compare(request) < 0;
  if (!isVolumeSmall && storageOf(claim.status.capacity).compare(request) >= 0) return undefined;
  const { conditions = [], allocatedResourceStatuses: _, ...rest } = claim.status;
  const left = conditions.filter(({ type }) => !passing.has(type));
  const status: PersistentVolumeClaimStatus = {
    ...rest,
    capacity: { ...claim.status.capacity, storage: wanted },
    allocatedResources: { ...claim.status.allocatedResources, storage: wanted },
    ...(left.length > 0 ? { conditions: left } : {}),
  };
  if (!isVolumeSmall) return deepEqual(status, claim.status) ? undefined : { status };
  const capacity = { ...volume.spec.capacity, storage: wanted };
  return { volume: { ...volume, spec: { ...volume.spec, capacity } }, status };
}
