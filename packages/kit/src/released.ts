/** How an owner that is being deleted tells that its dependents are to stay. */
import type { ObjectMeta } from "@keelson/core";

/**
 * Whether the garbage collector has released the dependents of an owner that was deleted with `--cascade=orphan`: it takes
 * the reference off every one. Where one still has it, a person took it off the others by hand, and nothing is to stay for
 * that. Beside `ctx.orphaned`, this needs no status: give it dependents that have an owner reference for as long as their
 * owner is there, as the server has them now.
 */
export function wereReleased(
  owner: { readonly metadata: Pick<ObjectMeta, "uid"> },
  dependents: readonly ({ readonly metadata: ObjectMeta } | undefined)[],
): boolean {
  const { uid } = owner.metadata;
  const there = dependents.flatMap((each) =>
    each && each.metadata.deletionTimestamp === undefined ? [each.metadata] : [],
  );
  return (
    there.length > 0 &&
    there.every(({ ownerReferences = [] }) => !ownerReferences.some((each) => each.uid === uid))
  );
}
