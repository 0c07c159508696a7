/** The revisions of a daemon set. */
import { isAlreadyExists } from "@keelson/client";
import { type InputOf, labelSelectorFrom } from "@keelson/core";
import { ControllerRevision, DaemonSet, Pod } from "@keelson/core/kinds";
import type { CacheReader } from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import {
  byRevision,
  isSamePatch,
  type RevisionObject,
  templateHash,
  templatePatch,
} from "@keelson/workloads";
import type { Acting } from "../acting/acting.ts";
import { claimed } from "../ownership/claim.ts";
import { candidatesFor } from "../ownership/owner-index.ts";
import { controllerReference } from "../ownership/owner-reference.ts";
import { type DaemonSetObject, hashLabel } from "./daemon-pods.ts";

type Context = Acting & { readonly caches: { readonly revisions: CacheReader<RevisionObject> } };

export interface DaemonRevisions {
  readonly current: RevisionObject;
  readonly old: readonly RevisionObject[];
}

export async function daemonRevisions(
  ctx: Context,
  set: DaemonSetObject,
  pods: readonly PodObject[],
): Promise<DaemonRevisions> {
  const selector = labelSelectorFrom(set.spec.selector);
  const claim = { owner: set, ownerKind: DaemonSet, kind: ControllerRevision, selector };
  const all = (await claimed(ctx, claim, candidatesFor(ctx.caches.revisions, set))).toSorted(byRevision);
  const patch = templatePatch(set.spec.template);
  const isCurrent = ({ data }: RevisionObject) => isSamePatch(data, patch as never);
  const old = all.filter((revision) => !isCurrent(revision));
  const next = (old.at(-1)?.revision ?? 0) + 1;
  const equal = all.filter(isCurrent);
  const latest = equal.at(-1);
  if (!latest) return { current: await create(ctx, set, next), old };
  await merge(ctx, latest, equal.slice(0, -1), pods);
  if (latest.revision >= next) return { current: latest, old };
  return { current: await ctx.kind(ControllerRevision).update({ ...latest, revision: next }), old };
}

async function create(ctx: Context, set: DaemonSetObject, revision: number): Promise<RevisionObject> {
  const patch = templatePatch(set.spec.template);
  const hash = templateHash(set.spec.template, set.status?.collisionCount);
  const { namespace, annotations } = set.metadata;
  const name = `${set.metadata.name}-${hash}`;
  try {
    return await ctx.kind(ControllerRevision).create({
      metadata: {
        name,
        namespace,
        labels: { ...set.spec.template.metadata?.labels, [hashLabel]: hash },
        ...(annotations ? { annotations } : {}),
        ownerReferences: [controllerReference(set, DaemonSet)],
      },
      data: patch,
      revision,
    } as InputOf<typeof ControllerRevision>);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const taken = await ctx.kind(ControllerRevision).get({ namespace, name });
    if (isSamePatch(taken.data, patch as never)) return taken;
    const status = {
      ...(set.status ?? {
        currentNumberScheduled: 0,
        numberMisscheduled: 0,
        desiredNumberScheduled: 0,
        numberReady: 0,
      }),
      collisionCount: (set.status?.collisionCount ?? 0) + 1,
    };
    await ctx
      .kind(DaemonSet)
      .subresource("status")
      .update({ ...set, status });
    throw error;
  }
}

/** Several revisions of one template become one; pods of the others are relabelled. */
async function merge(
  ctx: Context,
  kept: RevisionObject,
  others: readonly RevisionObject[],
  pods: readonly PodObject[],
): Promise<void> {
  if (others.length === 0) return;
  const hash = kept.metadata.labels?.[hashLabel] ?? "";
  for (const { metadata } of pods) {
    if (metadata.labels?.[hashLabel] === hash) continue;
    await ctx
      .kind(Pod)
      .patch(metadata, { type: "merge", body: { metadata: { labels: { [hashLabel]: hash } } } });
  }
  for (const { metadata } of others)
    await ctx.kind(ControllerRevision).delete(metadata, { uid: metadata.uid });
}

/** Deletes the oldest revisions that no pod has, beyond what history keeps. */
export async function truncateDaemonHistory(
  ctx: Context,
  set: DaemonSetObject,
  old: readonly RevisionObject[],
  pods: readonly PodObject[],
): Promise<void> {
  let surplus = old.length - (set.spec.revisionHistoryLimit ?? 10);
  const used = new Set(pods.map(({ metadata }) => metadata.labels?.[hashLabel]));
  for (const { metadata } of old) {
    if (surplus <= 0) return;
    if (used.has(metadata.labels?.[hashLabel])) continue;
    await ctx.kind(ControllerRevision).delete(metadata, { uid: metadata.uid });
    surplus--;
  }
}
