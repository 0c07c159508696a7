/** Who owns the claims of a stateful set's pods, as its retention policy wants it. Pure. */
import { type AnyKind, apiVersionOf, type OwnerReference, type Stored } from "@keelson/core";
import { Pod, StatefulSet } from "@keelson/core/kinds";
import { controllerReference } from "../ownership/owner-reference.ts";
import { isInRange, ordinalOf, type StatefulSetObject } from "./identity.ts";

/** A pod that exists, or one that is about to. */
export interface OwnerPod {
  readonly metadata: { readonly name?: string; readonly uid?: string };
}

function names(reference: OwnerReference, owner: OwnerPod | StatefulSetObject, kind: AnyKind): boolean {
  return (
    reference.apiVersion === apiVersionOf(kind) &&
    reference.kind === kind.kind &&
    reference.name === owner.metadata.name
  );
}

/** A reference to another object of the same name: one that is gone, and whose end the claim still has to follow. */
function isStale(
  owners: readonly OwnerReference[],
  owner: OwnerPod | StatefulSetObject,
  kind: AnyKind,
): boolean {
  const reference = owners.find((each) => names(each, owner, kind));
  return reference !== undefined && reference.uid !== owner.metadata.uid;
}

/** Whether a claim still belongs to an earlier pod of this name, with which it will go. */
export function isClaimStale(claim: Stored, set: StatefulSetObject, pod: OwnerPod): boolean {
  if ((set.spec.persistentVolumeClaimRetentionPolicy?.whenScaled ?? "Retain") === "Retain") return false;
  return isStale(claim.metadata.ownerReferences ?? [], pod, Pod);
}

/** Somebody else controls the claim: then the policy does not apply to it. */
export function hasOtherController(claim: Stored, set: StatefulSetObject, pod: OwnerPod): boolean {
  const { whenScaled = "Retain", whenDeleted = "Retain" } =
    set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenScaled === "Retain" && whenDeleted === "Retain") return false;
  return (claim.metadata.ownerReferences ?? []).some((reference) => {
    if (names(reference, set, StatefulSet)) return reference.uid !== set.metadata.uid;
    if (names(reference, pod, Pod)) return reference.uid !== pod.metadata.uid;
    return reference.controller === true;
  });
}

/** The owner references that the claim should have; undefined when it has them. */
export function claimOwners(
  claim: Stored,
  set: StatefulSetObject,
  pod: OwnerPod,
): OwnerReference[] | undefined {
  const current = claim.metadata.ownerReferences ?? [];
  if (isStale(current, set, StatefulSet) || isStale(current, pod, Pod)) return undefined;
  const others = current.filter((each) => !names(each, set, StatefulSet) && !names(each, pod, Pod));
  const wanted = hasOtherController(claim, set, pod) ? others : [...others, ...ownersByPolicy(set, pod)];
  const same = (a: OwnerReference, b: OwnerReference | undefined) =>
    a.uid === b?.uid && (a.controller ?? false) === (b.controller ?? false);
  const isCurrent =
    wanted.length === current.length && wanted.every((owner) => current.some((each) => same(owner, each)));
  return isCurrent ? undefined : wanted;
}

function ownersByPolicy(set: StatefulSetObject, pod: OwnerPod): OwnerReference[] {
  const { whenScaled = "Retain", whenDeleted = "Retain" } =
    set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const isScaledDown = !isInRange(set, ordinalOf(pod));
  if (whenScaled === "Delete" && isScaledDown) {
    return pod.metadata.uid === undefined ? [] : [controllerReference(pod as Stored, Pod)];
  }
  return whenDeleted === "Delete" ? [controllerReference(set, StatefulSet)] : [];
}
