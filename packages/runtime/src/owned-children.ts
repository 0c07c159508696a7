/** The children of one owner as the caches show them, slot by slot. */
import { objectKey, type Stored } from "@keelson/core";
import { type ChildId, childName, ownerLabelValue } from "./children.ts";
import type { Controller } from "./controller.ts";
import type { Informer } from "./informer.ts";
import { keyLabel, ownerLabel, slotLabel } from "./labels.ts";
import { controllerUid } from "./raw-controller.ts";

/** The index under which children are found by their owner. */
export const ownerIndex = "keelson/owner";

/** A child is bound by its controller reference or, when it outlives its owner, by the owner's name in a label. */
export function ownerIndexValues(object: Stored): readonly string[] {
  const values = controllerUid(object).map((uid) => `uid/${uid}`);
  const name = object.metadata.labels?.[ownerLabel];
  if (name !== undefined && values.length === 0) values.push(boundTo(object.metadata.namespace, name));
  return values;
}

function boundTo(namespace: string | undefined, label: string): string {
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
    const informer = this.#informers.get(slot) as Informer;
    const { uid, name, namespace } = this.#owner.metadata;
    const found = [
      ...informer.cache.byIndex(ownerIndex, `uid/${uid}`),
      ...(this.#controller.owns[slot]?.options.outlives
        ? informer.cache.byIndex(ownerIndex, boundTo(namespace, ownerLabelValue(name)))
        : []),
    ].filter((object) => object.metadata.labels?.[slotLabel] === slot);
    return found.sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1));
  }

  /** The child of a key; where an older one of another name is still there too, the one that is meant to stay. */
  get(id: ChildId): Stored | undefined {
    const candidates = this.inSlot(id.slot).filter((object) => keyOfChild(object) === id.key);
    if (candidates.length <= 1) return candidates[0];
    const expected = childName(this.#owner, id, {});
    return (
      candidates.find((object) => object.metadata.name === expected) ??
      candidates.find((object) => object.metadata.deletionTimestamp === undefined) ??
      candidates[0]
    );
  }

  named(slot: string, name: string): Stored | undefined {
    return this.inSlot(slot).find((object) => object.metadata.name === name);
  }

  /** By key, in the order of keys. */
  entries(slot: string): ReadonlyMap<string, Stored> {
    const keys = [...new Set(this.inSlot(slot).map(keyOfChild))].sort();
    return new Map(keys.map((key) => [key, this.get({ slot, key }) as Stored]));
  }
}

export function keyOfChild(object: Stored): string {
  return object.metadata.labels?.[keyLabel] ?? "";
}
