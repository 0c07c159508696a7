/** Removes pods that no kubelet and no controller will: on nodes that are gone, without a node, too many of the past. */
import { isNotFound } from "@keelson/client";
import { formatTime, objectKey } from "@keelson/core";
import { Node, Pod } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import type { NodeObject } from "@keelson/workloads";
import { isPodFinished, type PodObject } from "@keelson/workloads";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { type Disruption, markDisrupted } from "../pods/disruption-target.ts";
import { isLostOnNode, isUnscheduledAndLeaving, surplusOfFinished } from "./pod-gc.ts";

export interface PodGcOptions {
  /** Finished pods that are kept. Default: 12500. */
  readonly keptFinished?: number;
  /** How long a node must be gone before its pods go. Default: 40 s. */
  readonly quarantineMs?: number;
}

/** The key that stands for all finished pods. */
const finished = "finished";
const finishedEveryMs = 20_000;

const watches = {
  pods: watch(Pod, {
    indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) },
    keys: ({ object }) => (isPodFinished(object) ? [objectKey(object), finished] : [objectKey(object)]),
  }),
  nodes: watch(Node, { keys: podsOnNode }),
};

type Context = RawContext<typeof watches>;

function* podsOnNode(
  { object }: Change<NodeObject>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  for (const pod of cacheNamed<PodObject>(caches, "pods").byIndex("node", object.metadata.name)) {
    if (pod.metadata.deletionTimestamp !== undefined || !caches.nodes?.get(object.metadata.name))
      yield objectKey(pod);
  }
}

export function podGarbageCollector(options: PodGcOptions = {}): RawController {
  const { keptFinished = 12_500, quarantineMs = 40_000 } = options;
  /** When a node was first missed. */
  const missed = new Map<string, number>();
  return rawController({
    name: "pod-garbage-collector",
    fieldManager: controllerManager,
    watches,
    writes: [allow(Pod, ["delete"]), allow(Node, ["get"]), allowSubresource(Pod, "status", ["patch"])],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      if (key === finished) {
        for (const pod of surplusOfFinished(ctx.caches.pods.list(), keptFinished)) await remove(ctx, pod);
        if (ctx.caches.pods.size > keptFinished) ctx.recheck(finishedEveryMs);
        return;
      }
      const pod = ctx.caches.pods.get(key);
      if (!pod) return;
      const name = pod.spec.nodeName;
      const node = name ? ctx.caches.nodes.get(name) : undefined;
      if (isUnscheduledAndLeaving(pod) || isLostOnNode(pod, node)) await remove(ctx, pod);
      else if (name && !node) await quarantine(ctx, pod, name, missed, quarantineMs);
      if (name && node) missed.delete(name);
    }),
  });
}

/** A node may come back under its name, as after a restart that lost it; only then its pods are given up. */
async function quarantine(
  ctx: Context,
  pod: PodObject,
  node: string,
  missed: Map<string, number>,
  quarantineMs: number,
): Promise<void> {
  const nowMs = ctx.clock.now();
  const since = missed.get(node) ?? nowMs;
  missed.set(node, since);
  const left = since + quarantineMs - nowMs;
  if (left > 0) {
    ctx.recheck(left);
    return;
  }
  if (await ctx.kind(Node).find({ name: node })) return;
  await remove(ctx, pod, { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" });
}

async function remove(
  ctx: Context,
  pod: PodObject,
  why?: Pick<Disruption, "reason" | "message">,
): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  try {
    if (!isPodFinished(pod)) {
      if (why) await markDisrupted(ctx, pod, { ...why, at: formatTime(ctx.clock.now()), phase: "Failed" });
      else await markFailed(ctx, pod);
    }
    await ctx.kind(Pod).delete({ name, namespace }, { uid, gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function markFailed(ctx: Context, { metadata }: PodObject): Promise<void> {
  const body = { metadata: { uid: metadata.uid }, status: { phase: "Failed" } };
  await ctx.kind(Pod).subresource("status").patch(metadata, { type: "strategic", body });
}
