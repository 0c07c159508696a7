/** Brings a child to its desired state with as few requests as that takes, and never touches what is not ours. */

import { isAlreadyExists, isConflict, isInvalid, isRefused } from "@keelson/client";
import {
  deepCopy,
  groupKind,
  type ObjectRef,
  type OwnerReference,
  objectKey,
  parseApiVersion,
  type Stored,
} from "@keelson/core";
import { isSameJson } from "@keelson/core/internal";
import type { InventoryEntry, RuntimeStatus } from "@keelson/schema";
import type { Informer } from "../cache/informer.ts";
import { appliedBy } from "../cache/managed-fields.ts";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import {
  adoptAnnotation,
  controllerLabel,
  keyLabel,
  ownerLabel,
  ownerNamespaceLabel,
  slotLabel,
} from "../controller/labels.ts";
import { RuntimeError } from "../errors.ts";
import { AppliedObjects, type AppliedRecords } from "./applied-objects.ts";
import { type ChildBody, type ChildId, childBody, childKey, ownerLabels } from "./child-body.ts";
import { restoreMarks } from "./marks.ts";
import type { OwnedChildren } from "./owned-children.ts";
import { assertOwnerStays, refuseIfGone } from "./owner-stays.ts";

export interface ApplierOptions {
  readonly controller: Controller;
  readonly owner: Stored;
  /** What is known of the owner by now; undefined when it is gone. */
  readonly ownerNow: () => Stored | undefined;
  readonly client: TrackedClient;
  readonly children: OwnedChildren;
  readonly informers: ReadonlyMap<string, Informer>;
  readonly records: AppliedRecords;
  /** Ends with the reconcile. */
  readonly scope: { readonly signal: AbortSignal };
  /** Throws once the reconcile is over. */
  readonly check: () => void;
}

/**
 * The version of an empty storage, which no object ever has. An apply that names it makes an object, and is a conflict
 * where there is one: without it an apply takes over what has the name already.
 */
const neverStored = "1";

export class Applier {
  readonly #options: ApplierOptions;
  readonly #manager: string;
  /** Made for the first who asks, as are the two below: most looks at an object find nothing to do. */
  #lazyApplied: AppliedObjects | undefined;
  /** UIDs of what this reconcile deleted. */
  #deleted: Set<string> | undefined;
  /** Where this reconcile put children, by UID. */
  #places: Map<string, ChildId> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#manager = options.controller.options.fieldManager;
  }

  get #applied(): AppliedObjects {
    const { client, records } = this.#options;
    this.#lazyApplied ??= new AppliedObjects({ client, records, fieldManager: this.#manager });
    return this.#lazyApplied;
  }

  /** The child after the apply, as the cache shows it. Sends nothing when the child is as desired already. */
  async apply(id: ChildId, desired: object, options: { force?: boolean } = {}): Promise<Stored> {
    const { controller, owner, ownerNow, check } = this.#options;
    check();
    refuseIfGone(controller, owner, ownerNow());
    const slot = controller.owns[id.slot] as Owned;
    const unchanged = this.#unchanged(slot, id, desired);
    if (unchanged) return unchanged;
    const child = await this.#bring(slot, id, desired, options);
    this.#setPlace(child.metadata.uid, id);
    if (child.metadata.deletionTimestamp === undefined) this.#remember(slot, id, desired, child);
    return child;
  }

  async #bring(slot: Owned, id: ChildId, desired: object, options: { force?: boolean }): Promise<Stored> {
    const { controller, owner, children } = this.#options;
    const body = childBody(controller, owner, id, desired as never);
    const seen = children.at(id.slot, objectKey(body));
    if (seen) {
      // It is on its way out: no state can be applied to it. The next one is made when it has gone.
      if (seen.metadata.deletionTimestamp !== undefined) return seen;
      if (this.#applied.has(this.#informer(body), body, seen)) return seen;
      return await this.#update(slot, body, seen, options);
    }
    // What was never made is most likely not there: the server is asked to make it and not to look first.
    const made = this.#wasMade(id, body) ? undefined : await this.#make(slot, body);
    if (made) return made;
    const live = await this.#find(slot, body);
    if (!live) {
      await this.#checkVanished(id, body);
      return await this.#create(slot, body);
    }
    await this.#claim(slot, id, live);
    try {
      return await this.#update(slot, body, live, options);
    } catch (error) {
      // It is ours and cannot become what is asked for. With its marks back, the next reconcile sees what there is.
      if (isInvalidChild(error)) await this.#restoreMarks(slot, id, live);
      throw error;
    }
  }

  async #restoreMarks({ kind }: Owned, { slot, key }: ChildId, { metadata }: Stored): Promise<void> {
    const { name, uid } = metadata;
    const entry = { slot, kind: kind.kind, name, uid, ...(key === "" ? {} : { key }) };
    const { signal } = this.#options.scope;
    await restoreMarks({ ...this.#options, signal, fieldManager: this.#manager }, [entry]);
  }

  /** Deletes a child by UID; gone already, or replaced by another, is success. */
  async delete(slot: Owned, object: Stored, options: object = {}): Promise<void> {
    this.#options.check();
    const { signal } = this.#options.scope;
    const ref = { namespace: object.metadata.namespace, name: object.metadata.name };
    const verbs = this.#options.client.kind(slot.kind);
    try {
      await verbs.delete(ref, { propagation: "Background", signal, ...options, uid: object.metadata.uid });
    } catch (error) {
      if (!isConflict(error)) throw error;
      // The one we saw is gone and another has its name; look, so that the cache knows as well.
      await verbs.find(ref, { signal });
    }
    this.#deleted ??= new Set();
    this.#deleted.add(object.metadata.uid);
  }

  /** Whether this reconcile deleted the child of this UID, which may still be on its way out. */
  hasDeleted(uid: string): boolean {
    return this.#deleted?.has(uid) ?? false;
  }

  /** A child that this reconcile wrote in another way than by an apply belongs where its labels say now. */
  notice({ metadata }: Stored): void {
    const slot = metadata.labels?.[slotLabel];
    if (slot === undefined || !(slot in this.#options.controller.owns)) return;
    this.#setPlace(metadata.uid, { slot, key: metadata.labels?.[keyLabel] ?? "" });
  }

  #setPlace(uid: string, id: ChildId): void {
    this.#places ??= new Map();
    this.#places.set(uid, id);
  }

  /** Where this reconcile put the child of this UID; undefined when it changed nothing about it. */
  placeOf(uid: string): ChildId | undefined {
    return this.#places?.get(uid);
  }

  /** Asks the server for a child; undefined when there is none, or when what is there is not ours. */
  async find(id: ChildId, ref: ObjectRef): Promise<Stored | undefined> {
    const { controller, client, scope, check } = this.#options;
    check();
    const slot = controller.owns[id.slot] as Owned;
    const object = (await client.kind(slot.kind).find(ref, { signal: scope.signal })) as Stored | undefined;
    return object && this.#standing(slot, id, object) === "ours" ? object : undefined;
  }

  /**
   * What an owner of the same name left when it was orphaned, under the name that the child has for this one. Only what
   * has our own labels: nothing that a person put there.
   */
  unadopted(id: ChildId): Stored | undefined {
    const { controller, owner, informers } = this.#options;
    const slot = controller.owns[id.slot] as Owned;
    const object = informers.get(id.slot)?.cache.get(childKey(slot, owner, id, {}));
    return object && !controllerOf(object) && this.#isMarked(id, object) ? object : undefined;
  }

  /**
   * The child, when neither it nor what is wanted of it has changed since the two were last compared. This is what most
   * looks at an object come to, so nothing is made or written down for it.
   */
  #unchanged(slot: Owned, id: ChildId, desired: object): Stored | undefined {
    const { owner, informers, records } = this.#options;
    const key = childKey(slot, owner, id, desired);
    const origin = records.origin(slot.kind, key);
    if (!origin || origin.slot !== id.slot || origin.key !== id.key) return undefined;
    if (origin.ownerUid !== owner.metadata.uid) return undefined;
    const seen = informers.get(id.slot)?.cache.get(key);
    if (seen?.metadata.uid !== origin.uid || seen.metadata.resourceVersion !== origin.version)
      return undefined;
    return isSameJson(desired, origin.desired) ? seen : undefined;
  }

  #remember({ kind }: Owned, { slot, key }: ChildId, desired: object, child: Stored): void {
    const { uid, resourceVersion: version } = child.metadata;
    const ownerUid = this.#options.owner.metadata.uid;
    const origin = { ownerUid, slot, key, desired: deepCopy(desired), uid, version };
    this.#options.records.setOrigin(kind, objectKey(child), origin);
  }

  async #update(slot: Owned, body: ChildBody, seen: Stored, options: { force?: boolean }): Promise<Stored> {
    // Who took its owner away may have been the garbage collector, for an owner that is deleted with `--cascade=orphan`.
    if (!slot.options.outlives && !controllerOf(seen)) await this.#assertOwnerStays();
    const bound = { ...body, metadata: { ...body.metadata, uid: seen.metadata.uid } };
    try {
      return await this.#send(bound, options.force ?? true);
    } catch (error) {
      if (isReplaced(error)) {
        // Looked up, so that the cache knows as well when this comes again.
        await this.#find(slot, body);
        const what = `${groupKind(slot.kind)} ${objectKey(body)}`;
        throw new RuntimeError(
          "Replaced",
          `cannot apply ${what}: the one that was seen is gone and another has its name; it is looked at again`,
          { cause: error },
        );
      }
      if (!isInvalid(error) || !slot.options.recreate) throw refusedChild(error, slot, "");
      return await this.#recreate(slot, body, seen, error);
    }
  }

  /** A running child is given up only for one that the server would take. */
  async #recreate(slot: Owned, body: ChildBody, seen: Stored, refusal: Error): Promise<Stored> {
    const { client, scope, children } = this.#options;
    const { signal } = scope;
    try {
      await client.kind(slot.kind).create(body, { dryRun: true, signal, fieldManager: this.#manager });
    } catch (error) {
      // The name is taken by the child itself: the server checks it last, so the new one is valid.
      if (!isAlreadyExists(error)) throw refusedChild(error, slot, "; the child that runs was left as it is");
    }
    await this.delete(slot, seen);
    const left = children.at(slotOf(body), objectKey(body));
    if (left) return left;
    const live = await this.#find(slot, body);
    if (live) throw new RuntimeError("NotOurs", `${refusal.message}; and another took its place meanwhile`);
    return await this.#create(slot, body);
  }

  /** Makes the child if there is nothing of its name; undefined when there is. */
  async #make(slot: Owned, body: ChildBody): Promise<Stored | undefined> {
    const absent = { ...body, metadata: { ...body.metadata, resourceVersion: neverStored } };
    try {
      return await this.#send(absent, false);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw refusedChild(error, slot, "");
    }
  }

  async #create(slot: Owned, body: ChildBody): Promise<Stored> {
    try {
      return await this.#send(body, false);
    } catch (error) {
      throw refusedChild(error, slot, "");
    }
  }

  #send(body: ChildBody, force: boolean): Promise<Stored> {
    const { signal } = this.#options.scope;
    return this.#applied.send(this.#informer(body), body, { force, signal, remembers: true });
  }

  #wasMade({ slot }: ChildId, { metadata }: ChildBody): boolean {
    const made = inventoryOf(this.#options.owner);
    return made.some((entry) => entry.slot === slot && entry.name === metadata.name);
  }

  /** A child that was there and is not any more may have gone with its owner, of which our watch may not know yet. */
  async #checkVanished(id: ChildId, body: ChildBody): Promise<void> {
    if (this.#wasMade(id, body)) await this.#assertOwnerStays();
  }

  async #assertOwnerStays(): Promise<void> {
    const { signal } = this.#options.scope;
    await assertOwnerStays({ ...this.#options, signal });
  }

  #informer(body: ChildBody): Informer {
    return this.#options.informers.get(slotOf(body)) as Informer;
  }

  async #find(slot: Owned, body: ChildBody): Promise<Stored | undefined> {
    const { client, scope } = this.#options;
    const ref = { namespace: body.metadata.namespace, name: body.metadata.name };
    return (await client.kind(slot.kind).find(ref, { signal: scope.signal })) as Stored | undefined;
  }

  /** Lets only what is ours pass; the error says why and what a person can do. */
  async #claim(slot: Owned, id: ChildId, object: Stored): Promise<void> {
    const standing = this.#standing(slot, id, object);
    if (standing === "ours") return;
    const by = controllerOf(object);
    if (!by && (await this.#wasApplied(slot, id, object))) return;
    const { owner } = this.#options;
    const what = `${groupKind(slot.kind)} ${objectKey(object)}`;
    if (standing === "earlier") {
      throw new RuntimeError(
        "StillThere",
        `cannot apply ${what} yet: the one of an earlier ${by?.kind} ${by?.name} is still there`,
      );
    }
    throw new RuntimeError(
      "NotOurs",
      by
        ? `cannot apply ${what}: it exists and is controlled by ${by.kind} ${by.name}; ` +
            "rename one of the two, or delete the one that is not wanted"
        : `cannot apply ${what}: it exists and no controller made it; delete it, or hand it over with ` +
            `the annotation ${adoptAnnotation}=${owner.metadata.name}`,
    );
  }

  /**
   * Marks and the inventory may be lost at once: the server still knows who applied an object, as caches do not. What
   * names another owner or another slot has its marks, and where the slot says itself what it adopts, that counts.
   */
  async #wasApplied({ kind, options }: Owned, id: ChildId, object: Stored): Promise<boolean> {
    const { client, controller, scope } = this.#options;
    const { signal } = scope;
    const { namespace, name, uid, labels = {} } = object.metadata;
    const slot = labels[slotLabel];
    const isElsewhere = slot !== undefined && slot !== id.slot && slot in controller.owns;
    if (options.adopts || isElsewhere || this.#namesOwner(object) === false) return false;
    const where = namespace === undefined ? {} : { namespace };
    const { items } = await client.kind(kind).list({ ...where, fields: `metadata.name=${name}`, signal });
    const found = (items as readonly Stored[]).find((each) => each.metadata.uid === uid);
    return found !== undefined && appliedBy(found, this.#manager) !== undefined;
  }

  #standing(slot: Owned, id: ChildId, object: Stored): "ours" | "earlier" | "foreign" {
    const { owner, controller } = this.#options;
    const by = controllerOf(object);
    if (by) {
      if (by.uid === owner.metadata.uid) return "ours";
      const sameKind =
        by.kind === controller.kind.kind && parseApiVersion(by.apiVersion).group === controller.kind.group;
      return sameKind && by.name === owner.metadata.name ? "earlier" : "foreign";
    }
    if (this.#isMarked(id, object)) return "ours";
    if (object.metadata.annotations?.[adoptAnnotation] === owner.metadata.name) return "ours";
    if (slot.options.adopts?.(object as never, owner)) return "ours";
    // Someone took the owner reference away: the inventory still knows the child.
    return inventoryOf(owner).some((entry) => entry.uid === object.metadata.uid) ? "ours" : "foreign";
  }

  /** Whether the labels say that this controller made it in this place, for this owner or an earlier one of its name. */
  #isMarked(id: ChildId, object: Stored): boolean {
    const { controller } = this.#options;
    const labels = object.metadata.labels ?? {};
    if (labels[controllerLabel] !== controller.name || labels[slotLabel] !== id.slot) return false;
    const isNamed = this.#namesOwner(object);
    if (controller.owns[id.slot]?.options.outlives && isNamed) return true;
    // Orphaned: the same controller made it, under the name that it has for this owner.
    return (labels[keyLabel] ?? "") === id.key && isNamed !== false;
  }

  /** Whether the labels name the owner; undefined when they name none. */
  #namesOwner({ metadata }: Stored): boolean | undefined {
    const labels = metadata.labels ?? {};
    if (labels[ownerLabel] === undefined) return undefined;
    const expected = ownerLabels(this.#options.owner, metadata.namespace);
    const home = labels[ownerNamespaceLabel];
    // Earlier releases did not write the namespace on children that have none themselves.
    const isHome =
      home === expected[ownerNamespaceLabel] || (home === undefined && metadata.namespace === undefined);
    return isHome && labels[ownerLabel] === expected[ownerLabel];
  }
}

/** The server's way of saying that an object is not the one that the UID names. */
function isReplaced(error: unknown): boolean {
  if (!isInvalid(error)) return false;
  return error.status.details?.causes?.some(({ field }) => field === "metadata.uid") ?? false;
}

function inventoryOf(owner: Stored): readonly InventoryEntry[] {
  return (owner as { status?: RuntimeStatus }).status?.inventory ?? [];
}

function controllerOf(object: Stored): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller);
}

function slotOf(body: ChildBody): string {
  return (body.metadata.labels as Record<string, string>)[slotLabel] as string;
}

function isInvalidChild(error: unknown): boolean {
  return error instanceof RuntimeError && error.code === "InvalidChild";
}

/** `InvalidChild` for what the server will never take; any other error as it is. */
function refusedChild(error: unknown, slot: Owned, rest: string): unknown {
  if (!isRefused(error)) return error;
  const immutable = isInvalid(error) && /immutable|forbidden/i.test(error.message) && !slot.options.recreate;
  const advice = immutable
    ? "; where a field is immutable, delete the object or declare the slot with recreate: true"
    : "";
  return new RuntimeError("InvalidChild", `${error.message}${advice}${rest}`, { cause: error });
}
