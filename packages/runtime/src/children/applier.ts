/** Brings a child to its desired state with as few requests as that takes, and never touches what is not ours. */

import { hash } from "node:crypto";
import { isAlreadyExists, isConflict, isInvalid, isRefused } from "@keelson/client";
import {
  type AnyKind,
  deepCopy,
  groupKind,
  type JsonObject,
  type JsonValue,
  type ObjectRef,
  type OwnerReference,
  objectKey,
  parseApiVersion,
  parseJson,
  type Stored,
} from "@keelson/core";
import { isSameJson } from "@keelson/core/internal";
import type { InventoryEntry, RuntimeStatus } from "@keelson/schema";
import type { Informer } from "../cache/informer.ts";
import { extract, intentOf } from "../cache/managed-fields.ts";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import {
  adoptAnnotation,
  controllerLabel,
  fieldManagerOf,
  keyLabel,
  ownerLabel,
  slotLabel,
} from "../controller/labels.ts";
import { RuntimeError } from "../errors.ts";
import { type ChildBody, type ChildId, childBody, childKey, ownerLabelValue } from "./child-body.ts";
import type { OwnedChildren } from "./owned-children.ts";

/** What the last apply of an object said and gave. */
interface AppliedRecord {
  readonly uid: string;
  /** Digest of the body that was applied. */
  readonly intent: string;
  /** Digest of what the server made of it: the fields we own, with the server's own spelling of values. */
  readonly result: string;
  /** The version at which both were last compared. */
  readonly version: string;
  /** Of what the body was made. */
  readonly origin: Origin;
}

/** What a child's body is made of, beside what a controller always says: equal origins make equal bodies. */
interface Origin {
  readonly ownerUid: string;
  readonly slot: string;
  readonly key: string;
  /** A copy, in which JSON finds nothing that it cannot carry. */
  readonly desired: object;
}

/** A child that should be. */
interface Wanted {
  readonly slot: Owned;
  readonly body: ChildBody;
  readonly origin: Origin;
}

/** Records of all children of one controller, kept from run to run. Losing them costs reads, never correctness. */
export class AppliedRecords {
  readonly #records = new Map<string, AppliedRecord>();

  get(kind: AnyKind, key: string): AppliedRecord | undefined {
    return this.#records.get(`${groupKind(kind)}|${key}`);
  }

  set(kind: AnyKind, key: string, record: AppliedRecord): void {
    this.#records.set(`${groupKind(kind)}|${key}`, record);
  }

  delete(kind: AnyKind, key: string): void {
    this.#records.delete(`${groupKind(kind)}|${key}`);
  }
}

export interface ApplierOptions {
  readonly controller: Controller;
  readonly owner: Stored;
  /** What is known of the owner by now; undefined when it is gone. */
  readonly ownerNow: () => Stored | undefined;
  readonly client: TrackedClient;
  readonly children: OwnedChildren;
  readonly informers: ReadonlyMap<string, Informer>;
  readonly records: AppliedRecords;
  readonly signal: AbortSignal;
  /** Throws once the reconcile is over. */
  readonly check: () => void;
}

function digest(text: string): string {
  return hash("sha256", text, "base64");
}

export class Applier {
  readonly #options: ApplierOptions;
  readonly #manager: string;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#manager = fieldManagerOf(options.controller.name);
  }

  /** The child after the apply, as the cache shows it. Sends nothing when the child is as desired already. */
  async apply(id: ChildId, desired: object, options: { force?: boolean } = {}): Promise<Stored> {
    const { controller, owner, ownerNow, children, check } = this.#options;
    check();
    this.#refuseIfGone(ownerNow());
    const slot = controller.owns[id.slot] as Owned;
    const unchanged = this.#unchanged(slot, id, desired);
    if (unchanged) return unchanged;
    const body = childBody(controller, owner, id, desired as never);
    const wanted = { slot, body, origin: this.#originOf(id, desired) };
    const seen = children.at(id.slot, objectKey(body));
    if (seen) {
      // It is on its way out: no state can be applied to it. The next one is made when it has gone.
      if (seen.metadata.deletionTimestamp !== undefined) return seen;
      if (this.#isApplied(wanted, seen)) return seen;
      return await this.#update(wanted, seen, options);
    }
    const live = await this.#find(slot, body);
    if (!live) {
      await this.#checkVanished(id, body);
      return await this.#create(wanted);
    }
    this.#claim(slot, id, live);
    return await this.#update(wanted, live, options);
  }

  /** Deletes a child by UID; gone already, or replaced by another, is success. */
  async delete(slot: Owned, object: Stored, options: object = {}): Promise<void> {
    this.#options.check();
    const { signal } = this.#options;
    const ref = { namespace: object.metadata.namespace, name: object.metadata.name };
    const verbs = this.#options.client.kind(slot.kind);
    try {
      await verbs.delete(ref, { propagation: "Background", signal, ...options, uid: object.metadata.uid });
    } catch (error) {
      if (!isConflict(error)) throw error;
      // The one we saw is gone and another has its name; look, so that the cache knows as well.
      await verbs.find(ref, { signal });
    }
  }

  /** Asks the server for a child; undefined when there is none, or when what is there is not ours. */
  async find(id: ChildId, ref: ObjectRef): Promise<Stored | undefined> {
    const { controller, client, signal, check } = this.#options;
    check();
    const slot = controller.owns[id.slot] as Owned;
    const object = (await client.kind(slot.kind).find(ref, { signal })) as Stored | undefined;
    return object && this.#standing(slot, id, object) === "ours" ? object : undefined;
  }

  /**
   * The child, when neither it nor what is wanted of it has changed since the two were last compared. This is what most
   * looks at an object come to, so nothing is made or written down for it.
   */
  #unchanged({ kind }: Owned, id: ChildId, desired: object): Stored | undefined {
    const { owner, informers, records } = this.#options;
    const key = childKey(kind, owner, id, desired);
    const record = records.get(kind, key);
    const { origin } = record ?? {};
    if (!record || !origin || origin.slot !== id.slot || origin.key !== id.key) return undefined;
    if (origin.ownerUid !== owner.metadata.uid) return undefined;
    const seen = informers.get(id.slot)?.cache.get(key);
    if (seen?.metadata.uid !== record.uid || seen.metadata.resourceVersion !== record.version)
      return undefined;
    return isSameJson(desired, origin.desired) ? seen : undefined;
  }

  #originOf({ slot, key }: ChildId, desired: object): Origin {
    return { ownerUid: this.#options.owner.metadata.uid, slot, key, desired: deepCopy(desired) };
  }

  /**
   * Whether an apply of this body would change nothing. Either what we own of the object is the very body, or it
   * is what the server made of the same body last time. Fields that others changed are no longer ours, so drift
   * shows as a difference; fields that others added are not looked at.
   */
  #isApplied({ slot, body, origin }: Wanted, seen: Stored): boolean {
    const { records } = this.#options;
    const key = objectKey(seen);
    const intent = digest(intentOf(body));
    const record = records.get(slot.kind, key);
    const known = record?.uid === seen.metadata.uid && record.intent === intent ? record : undefined;
    const version = seen.metadata.resourceVersion;
    const result = known?.version === version ? known.result : this.#owned(body, seen);
    if (result === undefined) return false;
    if (result !== intent && known?.result !== result) return false;
    records.set(slot.kind, key, { uid: seen.metadata.uid, intent, result, version, origin });
    return true;
  }

  async #update(wanted: Wanted, seen: Stored, options: { force?: boolean }): Promise<Stored> {
    const { slot, body } = wanted;
    const bound = { ...body, metadata: { ...body.metadata, uid: seen.metadata.uid } };
    try {
      return await this.#send({ ...wanted, body: bound }, options.force ?? true);
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
      return await this.#recreate(wanted, seen, error);
    }
  }

  /** A running child is given up only for one that the server would take. */
  async #recreate(wanted: Wanted, seen: Stored, refusal: Error): Promise<Stored> {
    const { slot, body } = wanted;
    const { client, signal, children } = this.#options;
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
    return await this.#create(wanted);
  }

  async #create(wanted: Wanted): Promise<Stored> {
    try {
      return await this.#send(wanted, false);
    } catch (error) {
      throw refusedChild(error, wanted.slot, "");
    }
  }

  async #send({ slot, body, origin }: Wanted, force: boolean): Promise<Stored> {
    const { client, records, signal } = this.#options;
    const served = (await client
      .kind(slot.kind)
      .apply(body, { force, signal, fieldManager: this.#manager })) as Stored;
    const { uid, resourceVersion: version } = served.metadata;
    const result = this.#owned(body, served) ?? "";
    const intent = digest(intentOf(body));
    records.set(slot.kind, objectKey(served), { uid, intent, result, version, origin });
    return served;
  }

  /** A child that was there and is not any more may have gone with its owner, of which our watch may not know yet. */
  async #checkVanished({ slot }: ChildId, { metadata }: ChildBody): Promise<void> {
    const { controller, owner, client, signal } = this.#options;
    if (!inventoryOf(owner).some((entry) => entry.slot === slot && entry.name === metadata.name)) return;
    const { namespace, name } = owner.metadata;
    this.#refuseIfGone(await client.kind(controller.kind).find({ namespace, name }, { signal }));
  }

  /** What is made for an owner that is gone would be collected; for one that is going it would hold it up. */
  #refuseIfGone(now: Stored | undefined): void {
    const { controller, owner } = this.#options;
    const { uid, deletionTimestamp } = owner.metadata;
    const isGoing = deletionTimestamp === undefined && now?.metadata.deletionTimestamp !== undefined;
    if (now?.metadata.uid === uid && !isGoing) return;
    const what = `${groupKind(controller.kind)} ${objectKey(owner)}`;
    throw new RuntimeError(
      "OwnerGone",
      `${what} was deleted while it was reconciled; nothing more is made for it`,
    );
  }

  /** Digest of what we own of an object, as the cache remembers it. */
  #owned(body: ChildBody, object: Stored): string | undefined {
    const informer = this.#options.informers.get(slotOf(body)) as Informer;
    const fields = informer.cache.ownedFields(objectKey(object));
    if (fields === undefined) return undefined;
    const owned = extract(object as unknown as JsonValue, parseJson(fields) as JsonObject);
    return digest(intentOf(owned as JsonObject));
  }

  async #find(slot: Owned, body: ChildBody): Promise<Stored | undefined> {
    const { client, signal } = this.#options;
    const ref = { namespace: body.metadata.namespace, name: body.metadata.name };
    return (await client.kind(slot.kind).find(ref, { signal })) as Stored | undefined;
  }

  /** Lets only what is ours pass; the error says why and what a person can do. */
  #claim(slot: Owned, id: ChildId, object: Stored): void {
    const standing = this.#standing(slot, id, object);
    if (standing === "ours") return;
    const { owner } = this.#options;
    const what = `${groupKind(slot.kind)} ${objectKey(object)}`;
    const by = controllerOf(object);
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

  #standing(slot: Owned, id: ChildId, object: Stored): "ours" | "earlier" | "foreign" {
    const { owner, controller } = this.#options;
    const by = controllerOf(object);
    if (by) {
      if (by.uid === owner.metadata.uid) return "ours";
      const sameKind =
        by.kind === controller.kind.kind && parseApiVersion(by.apiVersion).group === controller.kind.group;
      return sameKind && by.name === owner.metadata.name ? "earlier" : "foreign";
    }
    const labels = object.metadata.labels ?? {};
    if (
      slot.options.outlives &&
      labels[controllerLabel] === controller.name &&
      labels[slotLabel] === id.slot &&
      labels[ownerLabel] === ownerLabelValue(owner.metadata.name)
    ) {
      return "ours";
    }
    // Orphaned: the same controller made it, under the name that it has for this owner.
    if (
      labels[controllerLabel] === controller.name &&
      labels[slotLabel] === id.slot &&
      (labels[keyLabel] ?? "") === id.key &&
      (labels[ownerLabel] ?? ownerLabelValue(owner.metadata.name)) === ownerLabelValue(owner.metadata.name)
    ) {
      return "ours";
    }
    if (object.metadata.annotations?.[adoptAnnotation] === owner.metadata.name) return "ours";
    // Someone took the owner reference away: the inventory still knows the child.
    return inventoryOf(owner).some((entry) => entry.uid === object.metadata.uid) ? "ours" : "foreign";
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

/** `InvalidChild` for what the server will never take; any other error as it is. */
function refusedChild(error: unknown, slot: Owned, rest: string): unknown {
  if (!isRefused(error)) return error;
  const immutable = isInvalid(error) && /immutable|forbidden/i.test(error.message) && !slot.options.recreate;
  const advice = immutable
    ? "; where a field is immutable, delete the object or declare the slot with recreate: true"
    : "";
  return new RuntimeError("InvalidChild", `${error.message}${advice}${rest}`, { cause: error });
}
