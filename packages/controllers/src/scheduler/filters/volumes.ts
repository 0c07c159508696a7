/** Filter by storage: bound volumes must be reachable, unbound claims need a volume or a provisioner. */
import type { Volume } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import {
  annotations,
  type ClaimObject,
  classOfClaim,
  isBound,
  isReachableFrom,
  matchingVolume,
  noProvisioner,
  storageOf,
  type VolumeObject,
  waitsForConsumer,
} from "../../volumes/matching.ts";
import { type FilterPlugin, type Rejection, rejected } from "../view/filter-plugin.ts";
import type { NodeInfo } from "../view/node-info.ts";
import type { Snapshot, StorageView } from "../view/snapshot.ts";

/** The claim behind a volume of a pod, when it has one. */
export function claimNameOf(pod: PodObject, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined;
}

/** What must be decided about claims before a pod can be on a node. */
export interface VolumePlan {
  /** Volumes that exist, and the claims that get them. */
  readonly bindings: readonly { readonly claim: ClaimObject; readonly volume: VolumeObject }[];
  /** Claims for which a volume is made, where the pod will be. */
  readonly provisions: readonly ClaimObject[];
}

interface Claims {
  readonly bound: ClaimObject[];
  readonly waiting: ClaimObject[];
}

/** The pod's claims by state, or why they keep it from every node. */
function claimsOf(pod: PodObject, storage: StorageView): Claims | Rejection | undefined {
  const bound: ClaimObject[] = [];
  const waiting: ClaimObject[] = [];
  let isUnboundImmediate = false;
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimNameOf(pod, volume);
    if (name === undefined) continue;
    const claim = storage.claim(pod.metadata.namespace ?? "", name);
    if (!claim) {
      return rejected(
        false,
        volume.ephemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
          : `persistentvolumeclaim "${name}" not found`,
      );
    }
    if (claim.status?.phase === "Lost") {
      const missing = `bound to non-existent persistentvolume "${claim.spec.volumeName ?? ""}"`;
      return rejected(false, `persistentvolumeclaim "${name}" ${missing}`);
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      return rejected(false, `persistentvolumeclaim "${name}" is being deleted`);
    }
    if (isBound(claim)) bound.push(claim);
    else if (waitsForConsumer(storage.storageClass(classOfClaim(claim))) && !claim.spec.volumeName)
      waiting.push(claim);
    else isUnboundImmediate = true;
  }
  if (isUnboundImmediate) return rejected(false, "pod has unbound immediate PersistentVolumeClaims");
  return bound.length + waiting.length > 0 ? { bound, waiting } : undefined;
}

/** What the claims need on this node, or why it cannot be had there. */
function planOn(
  { node }: NodeInfo,
  { bound, waiting }: Claims,
  storage: StorageView,
): VolumePlan | Rejection {
  const reasons: string[] = [];
  for (const claim of bound) {
    const volume = storage.volume(claim.spec.volumeName ?? "");
    if (!volume) {
      reasons.push("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
      break;
    }
    if (!isReachableFrom(volume, node)) {
      reasons.push("node(s) didn't match PersistentVolume's node affinity");
      break;
    }
  }
  const taken = new Set<string>();
  const bindings: { claim: ClaimObject; volume: VolumeObject }[] = [];
  const provisions: ClaimObject[] = [];
  const bySize = waiting.toSorted((a, b) =>
    storageOf(a.spec.resources?.requests).compare(storageOf(b.spec.resources?.requests)),
  );
  for (const claim of bySize) {
    const selected = claim.metadata.annotations?.[annotations.selectedNode];
    if (selected !== undefined && selected !== node.metadata.name) {
      reasons.push("node(s) didn't find available persistent volumes to bind");
      break;
    }
    const volumes = storage.volumesOfClass(classOfClaim(claim));
    const volume =
      selected === undefined ? matchingVolume(claim, volumes, { node, taken, delayed: true }) : undefined;
    if (volume) {
      taken.add(volume.metadata.name);
      bindings.push({ claim, volume });
    } else if (canProvision(claim, node.metadata.labels ?? {}, storage)) {
      provisions.push(claim);
    } else {
      reasons.push("node(s) didn't find available persistent volumes to bind");
      break;
    }
  }
  return reasons.length > 0 ? rejected(false, ...reasons) : { bindings, provisions };
}

function canProvision(
  claim: ClaimObject,
  labels: Readonly<Record<string, string>>,
  storage: StorageView,
): boolean {
  const storageClass = storage.storageClass(classOfClaim(claim));
  if (!storageClass?.provisioner || storageClass.provisioner === noProvisioner) return false;
  const terms = storageClass.allowedTopologies ?? [];
  return (
    terms.length === 0 ||
    terms.some(({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.every(({ key, values }) => values.includes(labels[key] ?? "")),
    )
  );
}

export const volumeBinding: FilterPlugin = (pod, { storage }) => {
  const claims = claimsOf(pod, storage);
  if (claims === undefined || "reasons" in claims) return claims;
  return (info) => {
    const plan = planOn(info, claims, storage);
    return "reasons" in plan ? plan : undefined;
  };
};

/** What must be bound or provisioned for the pod on the node that was chosen. */
export function volumePlan(pod: PodObject, info: NodeInfo, { storage }: Snapshot): VolumePlan {
  const none: VolumePlan = { bindings: [], provisions: [] };
  const claims = claimsOf(pod, storage);
  if (claims === undefined || "reasons" in claims) return none;
  const plan = planOn(info, claims, storage);
  return "reasons" in plan ? none : plan;
}

/** A claim that allows one pod only is taken by the first. */
export const volumeRestrictions: FilterPlugin = (pod, snapshot) => {
  const single = (pod.spec.volumes ?? [])
    .map((volume) => claimNameOf(pod, volume))
    .filter((name) => name !== undefined)
    .filter((name) =>
      snapshot.storage
        .claim(pod.metadata.namespace ?? "", name)
        ?.spec.accessModes?.includes("ReadWriteOncePod"),
    );
  if (single.length === 0) return undefined;
  const isTaken = snapshot.nodes.some(({ pods }) =>
    pods.some(
      ({ pod: other }) =>
        other.metadata.namespace === pod.metadata.namespace &&
        (other.spec.volumes ?? []).some((volume) => single.includes(claimNameOf(other, volume) ?? "")),
    ),
  );
  const reason =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
  return isTaken ? () => rejected(true, reason) : undefined;
};
