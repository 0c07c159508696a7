/** The revisions of a stateful set: one for each template it had, as many as history keeps. */
import { isAlreadyExists } from "@keelson/client";
import { type InputOf, labelSelectorFrom } from "@keelson/core";
import { ControllerRevision, StatefulSet } from "@keelson/core/kinds";
import type { CacheReader } from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import {
  byRevision,
  isSamePatch,
  nextRevision,
  type RevisionObject,
  revisionHash,
  revisionName,
  templatePatch,
} from "@keelson/workloads";
import type { Acting } from "../acting/acting.ts";
import { claimed } from "../ownership/claim.ts";
import { candidatesFor } from "../ownership/owner-index.ts";
import { controllerReference } from "../ownership/owner-reference.ts";
import { revisionOf, type StatefulSetObject } from "./identity.ts";

const hashLabel = "controller.kubernetes.io/hash";

type Context = Acting & { readonly caches: { readonly revisions: CacheReader<RevisionObject> } };

export interface Revisions {
  readonly all: readonly RevisionObject[];
  readonly current: RevisionObject;
  readonly update: RevisionObject;
  readonly collisionCount: number;
}

export async function revisionsOf(ctx: Context, set: StatefulSetObject): Promise<Revisions> {
  const selector = labelSelectorFrom(set.spec.selector);
  const claim = { owner: set, ownerKind: StatefulSet, kind: ControllerRevision, selector };
  const all = (await claimed(ctx, claim, candidatesFor(ctx.caches.revisions, set))).toSorted(byRevision);
  const patch = templatePatch(set.spec.template);
  const equal = all.findLast(({ data }) => isSamePatch(data, patch as never));
  let collisionCount = set.status?.collisionCount ?? 0;
  let update: RevisionObject;
  if (equal && equal === all.at(-1)) {
    update = equal;
  } else if (equal) {
    // An old template is back: its revision becomes the latest.
    update = await ctx.kind(ControllerRevision).update({ ...equal, revision: nextRevision(all) });
  } else {
    ({ update, collisionCount } = await create(ctx, set, all, collisionCount));
  }
  const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
  return { all, current, update, collisionCount };
}

async function create(
  ctx: Context,
  set: StatefulSetObject,
  all: readonly RevisionObject[],
  collisions: number,
): Promise<{ update: RevisionObject; collisionCount: number }> {
  const patch = templatePatch(set.spec.template);
  for (let collisionCount = collisions; ; collisionCount++) {
    const hash = revisionHash(patch, collisionCount);
    const name = revisionName(set.metadata.name, hash);
    const { namespace, annotations } = set.metadata;
    const revision = {
      metadata: {
        name,
        namespace,
        labels: { ...set.spec.template.metadata?.labels, [hashLabel]: hash },
        ...(annotations ? { annotations } : {}),
        ownerReferences: [controllerReference(set, StatefulSet)],
      },
      data: patch,
      revision: nextRevision(all),
    } as InputOf<typeof ControllerRevision>;
    try {
      return { update: await ctx.kind(ControllerRevision).create(revision), collisionCount };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const taken = await ctx.kind(ControllerRevision).get({ namespace, name });
      if (isSamePatch(taken.data, patch as never)) return { update: taken, collisionCount };
    }
  }
}

/** Deletes the oldest revisions that nothing uses, beyond what history keeps. */
export async function truncateHistory(
  ctx: Context,
  set: StatefulSetObject,
  { all, current, update }: Revisions,
  pods: readonly PodObject[],
): Promise<void> {
  const used = new Set([current.metadata.name, update.metadata.name, ...pods.map(revisionOf)]);
  const idle = all.filter(({ metadata }) => !used.has(metadata.name));
  const limit = set.spec.revisionHistoryLimit ?? 10;
  if (limit < 0) return;
  for (const { metadata } of idle.slice(0, Math.max(0, idle.length - limit))) {
    await ctx.kind(ControllerRevision).delete(metadata, { uid: metadata.uid });
  }
}
