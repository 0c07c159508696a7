/** The marks that the runtime leaves on objects. They are public API: people select by them. */

/** On every child: the controller that made it. Caches of children are scoped by it. */
export const controllerLabel = "keelson.dev/controller";
/** On every child: its slot in `owns`. */
export const slotLabel = "keelson.dev/slot";
/** On a child of a slot that holds many: its key. */
export const keyLabel = "keelson.dev/key";
/** On a child that outlives its owner, in place of an owner reference: the owner's name. */
export const ownerLabel = "keelson.dev/owner";
/** On such a child in another namespace than its owner: the owner's namespace. */
export const ownerNamespaceLabel = "keelson.dev/owner-namespace";
/** Put by a person on an object without controller: the name of the owner that may adopt it. */
export const adoptAnnotation = "keelson.dev/adopt";

/** Held while a controller with `finalize` has work left on a deleted object. */
export function finalizerOf(controller: string): string {
  return `keelson.dev/${controller}`;
}

/** Signs the writes of a controller. */
export function fieldManagerOf(controller: string): string {
  return `keelson-${controller}`;
}
