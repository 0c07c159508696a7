/** Which pods use which claims. */
import { objectKey } from "@keelson/core";
import type { PodObject } from "@keelson/workloads";
import type { ClaimObject, VolumeObject } from "./matching.ts";

/** The name of the claim of a generic ephemeral volume. */
export function ephemeralClaimName(pod: PodObject, volume: { readonly name: string }): string {
  return `${pod.metadata.name}-${volume.name}`;
}

/** Whether the claim was made for a volume of this pod. */
export function isForPod(claim: ClaimObject, pod: PodObject): boolean {
  return (claim.metadata.ownerReferences ?? []).some(
    ({ controller, uid }) => controller === true && uid === pod.metadata.uid,
  );
}

/** Keys of the claims that a pod's volumes name. */
export function claimKeysOf(pod: PodObject): string[] {
  const { namespace } = pod.metadata;
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name =
      volume.persistentVolumeClaim?.claimName ??
      (volume.ephemeral ? ephemeralClaimName(pod, volume) : undefined);
    return name === undefined ? [] : [objectKey({ metadata: { namespace, name } })];
  });
}

/** Finds pods by a claim: `byIndex("claim", "default/data-0")`. */
export const podIndexes = { claim: claimKeysOf };

/** The key of the claim that a volume points at, if it does. */
export function claimKeyOf({ spec }: VolumeObject): string[] {
  const { name, namespace } = spec.claimRef ?? {};
  return name ? [objectKey({ metadata: { name, namespace } })] : [];
}

/** Whether the claim must stay for the pod: one on a node may have it mounted. */
export function keepsClaim(pod: PodObject, claim: ClaimObject): boolean {
  if (!pod.spec.nodeName || pod.metadata.namespace !== claim.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim) {
      return volume.persistentVolumeClaim.claimName === claim.metadata.name;
    }
    if (!volume.ephemeral || isShutDown(pod)) return false;
    return ephemeralClaimName(pod, volume) === claim.metadata.name && isForPod(claim, pod);
  });
}

/** Left by its node, or forced away. Its finalizers may wait for its own claims, so those must not wait for it. */
function isShutDown({ metadata }: PodObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}
