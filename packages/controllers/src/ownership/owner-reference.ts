/** Owner references of objects that a controller makes. */
import { type AnyKind, apiVersionOf, type OwnerReference, type Stored } from "@keelson/core";

/** Makes the owner the controller of an object, which blocks the owner's foreground deletion. */
export function controllerReference(owner: Pick<Stored, "metadata">, kind: AnyKind): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function controllerOfObject(object: {
  readonly metadata?: { readonly ownerReferences?: readonly OwnerReference[] };
}): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((reference) => reference.controller === true);
}

export function isControlledBy(
  object: { readonly metadata?: { readonly ownerReferences?: readonly OwnerReference[] } },
  owner: Pick<Stored, "metadata">,
): boolean {
  return controllerOfObject(object)?.uid === owner.metadata.uid;
}
