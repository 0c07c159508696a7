/** A volume that points at the claim it is for. */
import { annotations, type ClaimObject, isReservedFor, type VolumeObject } from "./matching.ts";

/** The volume with a reference to the claim; marked where we chose it, left unmarked where a person did. */
export function reservedVolume(volume: VolumeObject, claim: ClaimObject): VolumeObject {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const chosenBefore = isReservedFor(volume, claim);
  if (chosenBefore && volume.spec.claimRef?.uid === uid) return volume;
  const marks: Record<string, string> = chosenBefore ? {} : { [annotations.boundByController]: "yes" };
  return {
    ...volume,
    metadata: { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...marks } },
    spec: {
      ...volume.spec,
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion },
    },
  };
}
