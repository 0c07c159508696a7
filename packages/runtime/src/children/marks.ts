/** Labels and owners by which children are found: what someone removed is put back before anything is decided. */

import { type JsonObject, type OwnerReference, objectKey, type Stored } from "@keelson/core";
import type { InventoryEntry, RuntimeStatus } from "@keelson/schema";
import type { Informer } from "../cache/informer.ts";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import { controllerLabel, keyLabel, slotLabel } from "../controller/labels.ts";
import { type ChildId, ownerLabels, ownerReference } from "./child-body.ts";
import type { OwnedChildren } from "./owned-children.ts";
import { assertOwnerStays, type OwnerOptions } from "./owner-stays.ts";

export interface MarksOptions extends OwnerOptions {
  readonly fieldManager: string;
}

/** What the inventory names and the cache does not show. */
export function missingChildren(
  controller: Controller,
  owner: Stored,
  children: OwnedChildren,
): readonly InventoryEntry[] {
  return inventoryOf(owner).filter(({ slot, key, uid }) => {
    if (!controller.owns[slot]) return false;
    return children.get({ slot, key: key ?? "" })?.metadata.uid !== uid;
  });
}

/**
 * Caches of children are scoped by labels, so a child without them looks as if it were gone. What seems to be missing is
 * looked up at the server; if it is still the same object, its marks are put back. Returns what is gone, or another's.
 */
export async function restoreMarks(
  options: MarksOptions,
  missing: readonly InventoryEntry[],
): Promise<readonly InventoryEntry[]> {
  const gone: InventoryEntry[] = [];
  for (const entry of missing) {
    const isOurs = await restore(options, options.controller.owns[entry.slot] as Owned, entry);
    if (!isOurs) gone.push(entry);
  }
  return gone;
}

/**
 * What was recorded, is not seen at the end of a reconcile, and was neither deleted by it nor found gone. It may have
 * lost its marks meanwhile: without the record, the next reconcile could not tell whose it is.
 */
export function lostMeanwhile(
  recorded: readonly InventoryEntry[],
  seen: readonly InventoryEntry[],
  isGone: (entry: InventoryEntry) => boolean,
): readonly InventoryEntry[] {
  if (recorded.length === 0) return [];
  const names = new Set(seen.map(nameIn));
  return recorded.filter((entry) => !names.has(nameIn(entry)) && !isGone(entry));
}

/**
 * What is seen in another place than where this reconcile or an earlier one put it had its labels changed meanwhile: it goes
 * on record where it belongs, so that the next reconcile puts the labels back.
 */
export function inPlace(
  { owns }: Controller,
  recorded: readonly InventoryEntry[],
  seen: readonly InventoryEntry[],
  placeOf: (uid: string) => ChildId | undefined,
): readonly InventoryEntry[] {
  const known = recorded.filter(({ slot }) => slot in owns);
  const before = new Map(known.map((entry) => [entry.uid, entry]));
  return seen.map((entry) => {
    const place = placeOf(entry.uid) ?? before.get(entry.uid);
    const isMoved = place && (place.slot !== entry.slot || (place.key ?? "") !== (entry.key ?? ""));
    if (!isMoved) return entry;
    const { key: _, ...rest } = entry;
    return { ...rest, slot: place.slot, ...(place.key ? { key: place.key } : {}) };
  });
}

function nameIn({ slot, name }: InventoryEntry): string {
  return `${slot}/${name}`;
}

/** Whether the child is still there, and ours. */
async function restore(options: MarksOptions, slot: Owned, entry: InventoryEntry): Promise<boolean> {
  const { controller, owner, client, fieldManager, signal } = options;
  const namespace = slot.kind.scope === "Cluster" ? undefined : owner.metadata.namespace;
  if (slot.kind.scope === "Namespaced" && namespace === undefined) return false;
  const ref = { namespace, name: entry.name };
  const live = (await client.kind(slot.kind).find(ref, { signal })) as Stored | undefined;
  if (live?.metadata.uid !== entry.uid) return false;
  const references = live.metadata.ownerReferences ?? [];
  if (references.some(({ controller: isController, uid }) => isController && uid !== owner.metadata.uid))
    return false;
  const labels = {
    [controllerLabel]: controller.name,
    [slotLabel]: entry.slot,
    [keyLabel]: entry.key ?? null,
    ...(slot.options.outlives ? ownerLabels(owner, namespace) : {}),
  };
  const isOwned = slot.options.outlives || references.some(({ uid }) => uid === owner.metadata.uid);
  const isMarked = Object.entries(labels).every(
    ([label, value]) => (live.metadata.labels?.[label] ?? null) === value,
  );
  if (isOwned && isMarked) return true;
  // Who took the owner away may have been the garbage collector, for an owner that is deleted with `--cascade=orphan`.
  if (!isOwned) await assertOwnerStays(options);
  const metadata = {
    uid: entry.uid,
    labels,
    ...(isOwned ? {} : { ownerReferences: [ownerReference(controller.kind, owner), ...references] }),
  };
  const patch = { type: "merge" as const, body: { metadata } as unknown as JsonObject };
  await client.kind(slot.kind).patch(ref, patch as never, { fieldManager, signal });
  return true;
}

/**
 * Whether the owner was deleted with `--cascade=orphan`. The garbage collector may have done its work before we look: then
 * children that were bound by an owner reference are still there, and none of them has one.
 */
export function isOrphaned(
  controller: Controller,
  owner: Stored,
  informers: ReadonlyMap<string, Informer>,
): boolean | undefined {
  if (owner.metadata.finalizers?.includes("orphan")) return true;
  if (owner.metadata.finalizers?.includes("foregroundDeletion")) return false;
  const bound = inventoryOf(owner).flatMap((entry) => {
    const slot = controller.owns[entry.slot];
    if (!slot || slot.options.outlives) return [];
    const namespace = slot.kind.scope === "Cluster" ? undefined : owner.metadata.namespace;
    const key = objectKey({ metadata: { namespace, name: entry.name } } as Stored);
    const found = informers.get(entry.slot)?.cache.get(key);
    return found?.metadata.uid === entry.uid ? [found] : [];
  });
  const areReleased =
    bound.length > 0 && bound.every(({ metadata }) => !hasController(metadata.ownerReferences));
  return areReleased || undefined;
}

function hasController(references: readonly OwnerReference[] | undefined): boolean {
  return references?.some(({ controller }) => controller) ?? false;
}

function inventoryOf(owner: Stored): readonly InventoryEntry[] {
  return (owner as { status?: RuntimeStatus }).status?.inventory ?? [];
}
