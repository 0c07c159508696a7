/** Which objects are a parent's children: adopts those that its selector finds, releases those that it no longer finds. */
import { isConflict, isNotFound } from "@keelson/client";
import { type AnyKind, type JsonObject, type LabelSelector, matchesLabels, type Stored } from "@keelson/core";
import type { CacheReader, RawContext } from "@keelson/runtime/internal";
import { controllerReference } from "./desired.ts";

/** Index functions of a watch whose objects can be claimed. */
export const claimIndexes = {
  owner: (object: Stored): readonly string[] => {
    const by = controllerOf(object);
    return by ? [by.uid] : [];
  },
  orphans: (object: Stored): readonly string[] =>
    controllerOf(object) ? [] : ["*", `/${object.metadata.namespace ?? ""}`],
};

export function controllerOf(object: Stored) {
  return object.metadata.ownerReferences?.find(({ controller }) => controller);
}

export interface ClaimOptions {
  readonly parent: Stored;
  readonly parentKind: AnyKind;
  readonly selector: LabelSelector;
  /** The kind of children, and the name of its watch. */
  readonly kind: AnyKind;
  readonly watch: string;
}

/** The children of one kind. Nothing is adopted for a parent that is being deleted, and nothing is released by it. */
export async function claim(ctx: RawContext, options: ClaimOptions): Promise<Stored[]> {
  const { parent, selector, watch } = options;
  const cache = ctx.caches[watch] as unknown as CacheReader<Stored>;
  const { uid, namespace, deletionTimestamp } = parent.metadata;
  const isEnding = deletionTimestamp !== undefined;
  const claimed: Stored[] = [];
  for (const object of cache.byIndex("owner", uid)) {
    if (matchesLabels(selector, object.metadata.labels)) claimed.push(object);
    else if (!isEnding) await release(ctx, options, object);
  }
  if (isEnding) return claimed;
  let mayAdopt: boolean | undefined;
  for (const object of cache.byIndex("orphans", namespace === undefined ? "*" : `/${namespace}`)) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    if (!matchesLabels(selector, object.metadata.labels)) continue;
    mayAdopt ??= await isAlive(ctx, options);
    if (!mayAdopt) break;
    const adopted = await adopt(ctx, options, object);
    if (adopted) claimed.push(adopted);
  }
  return claimed;
}

/** Asked of the server: a parent that the cache shows may be gone. */
async function isAlive(ctx: RawContext, { parent, parentKind }: ClaimOptions): Promise<boolean> {
  const { namespace, name, uid } = parent.metadata;
  const live = (await ctx.kind(parentKind).find({ namespace, name })) as Stored | undefined;
  return live?.metadata.uid === uid && live.metadata.deletionTimestamp === undefined;
}

async function adopt(ctx: RawContext, options: ClaimOptions, object: Stored): Promise<Stored | undefined> {
  const { parent, parentKind } = options;
  const references = [...(object.metadata.ownerReferences ?? []), controllerReference(parentKind, parent)];
  return await setOwners(ctx, options, object, references);
}

async function release(ctx: RawContext, options: ClaimOptions, object: Stored): Promise<void> {
  const { uid } = options.parent.metadata;
  const references = (object.metadata.ownerReferences ?? []).filter((each) => each.uid !== uid);
  await setOwners(ctx, options, object, references);
}

/** Undefined when the object is not the one any more that was seen: its change brings the parent back. */
async function setOwners(
  ctx: RawContext,
  { kind }: ClaimOptions,
  object: Stored,
  ownerReferences: readonly object[],
): Promise<Stored | undefined> {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const body = { metadata: { uid, resourceVersion, ownerReferences } } as unknown as JsonObject;
  try {
    return (await ctx.kind(kind).patch({ namespace, name }, { type: "merge", body })) as Stored;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return undefined;
    throw error;
  }
}
