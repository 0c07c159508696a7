/** The children of one owner as the caches show them, slot by slot. */
import { objectKey, type Stored } from "@keelson/core";
import type { Informer } from "../cache/informer.ts";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import { keyLabel, ownerLabel, ownerNamespaceLabel, slotLabel } from "../controller/labels.ts";
import { controllerUid } from "../controller/raw-controller.ts";
import { type ChildId, childKey, ownerLabelValue } from "./child-body.ts";

/** The index under which children are found by owner and slot, and by owner, slot and key. */
export const ownerIndex = "keelson/owner";

/** A child is bound by its controller reference or, when it outlives its owner, by the owner's name in a label. */
export function ownerIndexValues(object: Stored): readonly string[] {
  const slot = object.metadata.labels?.[slotLabel];
  if (slot === undefined) return [];
  const key = keyOfChild(object);
  return bonds(object).flatMap((bond) => [`${bond}|${slot}`, `${bond}|${slot}|${key}`]);
}

function bonds(object: Stored): string[] {
  const uids = controllerUid(object);
  if (uids.length > 0) return uids.map(boundByReference);
  const { labels, namespace } = object.metadata;
  const name = labels?.[ownerLabel];
  if (name === undefined) return [];
  const elsewhere = labels?.[ownerNamespaceLabel];
  if (elsewhere !== undefined) return [boundByName(elsewhere, name)];
  // The owner may be in the same namespace or in none.
  return [boundByName(namespace, name), boundByName(undefined, name)];
}

function boundByReference(uid: string): string {
  return `uid/${uid}`;
}

function boundByName(namespace: string | undefined, label: string): string {
  return `name/${namespace ?? ""}/${label}`;
}

export class OwnedChildren {
  readonly #controller: Controller;
  readonly #informers: ReadonlyMap<string, Informer>;
  readonly #owner: Stored;

  constructor(controller: Controller, informers: ReadonlyMap<string, Informer>, owner: Stored) {
    this.#controller = controller;
    this.#informers = informers;
    this.#owner = owner;
  }

  /** All children in a slot, by name; those that are being deleted too. */
  inSlot(slot: string): Stored[] {
    const found = this.#find(slot, slot);
    return found.length < 2 ? found : found.sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1));
  }

  /** The child of a key; where an older one of another name is still there too, the one that is meant to stay. */
  get(id: ChildId): Stored | undefined {
    return this.#chosen(id, this.#find(id.slot, `${id.slot}|${id.key}`));
  }

  /** The child under `namespace/name`, when it is one of this slot. */
  at(slot: string, key: string): Stored | undefined {
    const object = (this.#informers.get(slot) as Informer).cache.get(key);
    if (!object) return undefined;
    const values = ownerIndexValues(object);
    return this.#bonds(slot).some((bond) => values.includes(`${bond}|${slot}`)) ? object : undefined;
  }

  /** Names what is seen of all children: two equal answers mean that nothing has changed between them. */
  versions(): string {
    return Object.keys(this.#controller.owns)
      .flatMap((slot) => this.inSlot(slot))
      .map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`)
      .join();
  }

  /** By key, in the order of keys. */
  entries(slot: string): ReadonlyMap<string, Stored> {
    const byKey = Map.groupBy(this.#find(slot, slot), keyOfChild);
    return new Map(
      [...byKey.keys()].sort().map((key) => {
        return [key, this.#chosen({ slot, key }, byKey.get(key) ?? []) as Stored];
      }),
    );
  }

  #find(slot: string, suffix: string): Stored[] {
    const { cache } = this.#informers.get(slot) as Informer;
    const [first, ...others] = this.#bonds(slot);
    const found = [...cache.byIndex(ownerIndex, `${first}|${suffix}`)];
    for (const bond of others) found.push(...cache.byIndex(ownerIndex, `${bond}|${suffix}`));
    return found;
  }

  #bonds(slot: string): string[] {
    const { uid, name, namespace } = this.#owner.metadata;
    const outlives = this.#controller.owns[slot]?.options.outlives;
    const byReference = boundByReference(uid);
    return outlives ? [byReference, boundByName(namespace, ownerLabelValue(name))] : [byReference];
  }

  #chosen(id: ChildId, candidates: readonly Stored[]): Stored | undefined {
    if (candidates.length <= 1) return candidates[0];
    const slot = this.#controller.owns[id.slot] as Owned;
    const expected = childKey(slot, this.#owner, id, {});
    return (
      candidates.find((object) => objectKey(object) === expected) ??
      candidates.find((object) => object.metadata.deletionTimestamp === undefined) ??
      candidates[0]
    );
  }
}

export function keyOfChild(object: Stored): string {
  return object.metadata.labels?.[keyLabel] ?? "";
}
