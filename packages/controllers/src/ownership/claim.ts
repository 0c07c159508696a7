/** Claims what a selector matches: adopts what has no controller, lets go what no longer matches. */
import { isInvalid, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  groupKind,
  type JsonObject,
  type LabelSelector,
  matchesLabels,
  type ObjectOf,
  objectKey,
  type Stored,
} from "@keelson/core";
import type { Acting } from "../acting/acting.ts";
import { ControllerError } from "../acting/errors.ts";
import { controllerOfObject, controllerReference } from "./owner-reference.ts";

export interface Claim<K extends AnyKind> {
  readonly owner: Stored;
  readonly ownerKind: AnyKind;
  readonly kind: K;
  readonly selector: LabelSelector;
  /** What else an object must satisfy to be claimed. */
  readonly matches?: (object: ObjectOf<K>) => boolean;
  /** Put on what is adopted, taken off what is let go. */
  readonly finalizers?: readonly string[];
}

/** Those of the candidates that belong to the owner now. Nothing is adopted or let go by an owner that is going. */
export async function claimed<K extends AnyKind>(
  acting: Acting,
  claim: Claim<K>,
  candidates: Iterable<ObjectOf<K>>,
): Promise<ObjectOf<K>[]> {
  const { owner, selector, matches } = claim;
  const isLeaving = owner.metadata.deletionTimestamp !== undefined;
  const ours: ObjectOf<K>[] = [];
  let mayAdopt: Promise<void> | undefined;
  for (const candidate of candidates) {
    const object = candidate as ObjectOf<K> & Stored;
    const controller = controllerOfObject(object);
    const fits = matchesLabels(selector, object.metadata.labels) && (matches?.(object) ?? true);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (fits) ours.push(object);
      else if (!isLeaving) await release(acting, claim, object);
      continue;
    }
    if (isLeaving || !fits || object.metadata.deletionTimestamp !== undefined) continue;
    mayAdopt ??= refuseIfGone(acting, claim);
    await mayAdopt;
    const adopted = await adopt(acting, claim, object);
    if (adopted) ours.push(adopted);
  }
  return ours;
}

/**
 * Asks the server, since the cache may not know yet that the owner is going: what it adopted would go with it, and what
 * it made in the place of others that went with it would have to be collected once more.
 */
export async function refuseIfGone(
  acting: Acting,
  { owner, ownerKind }: Pick<Claim<AnyKind>, "owner" | "ownerKind">,
): Promise<void> {
  const { name, namespace, uid } = owner.metadata;
  const live = (await acting.kind(ownerKind).find({ name, namespace })) as Stored | undefined;
  if (live?.metadata.uid === uid && live.metadata.deletionTimestamp === undefined) return;
  throw new ControllerError(
    "OwnerGone",
    `cannot act for ${groupKind(ownerKind)} ${objectKey(owner)}: it has just been deleted`,
  );
}

async function adopt<K extends AnyKind>(
  acting: Acting,
  { owner, ownerKind, kind, finalizers = [] }: Claim<K>,
  object: ObjectOf<K> & Stored,
): Promise<ObjectOf<K> | undefined> {
  const reference = controllerReference(owner, ownerKind);
  const metadata: JsonObject = { uid: object.metadata.uid, ownerReferences: [{ ...reference }] };
  if (finalizers.length > 0) metadata.finalizers = [...finalizers];
  const { name, namespace } = object.metadata;
  try {
    return await acting.kind(kind).patch({ name, namespace }, { type: "strategic", body: { metadata } });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function release<K extends AnyKind>(
  acting: Acting,
  { owner, kind, finalizers = [] }: Claim<K>,
  object: ObjectOf<K> & Stored,
): Promise<void> {
  const metadata: JsonObject = {
    uid: object.metadata.uid,
    ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }],
  };
  if (finalizers.length > 0) metadata["$deleteFromPrimitiveList/finalizers"] = [...finalizers];
  const { name, namespace } = object.metadata;
  try {
    await acting.kind(kind).patch({ name, namespace }, { type: "strategic", body: { metadata } });
  } catch (error) {
    // Gone, or another object under the same name: either way it is ours no longer.
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}
