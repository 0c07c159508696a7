/** Drives pods off nodes whose taints they do not tolerate, or tolerate for a while only. */
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
import type { NodeObject, PodObject } from "@keelson/workloads";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { markDisrupted } from "../pods/disruption-target.ts";
import { evictionTimeMs } from "./eviction-time.ts";

const watches = {
  pods: watch(Pod, { indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) } }),
  nodes: watch(Node, { keys: podsOnNode }),
};

type Context = RawContext<typeof watches>;

function* podsOnNode(
  { object }: Change<NodeObject>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  for (const pod of cacheNamed<PodObject>(caches, "pods").byIndex("node", object.metadata.name))
    yield objectKey(pod);
}

export function taintEvictionController(): RawController {
  /** Pods that were told to go at some time, by UID: taking that back is told too. */
  const scheduled = new Set<string>();
  return rawController({
    name: "taint-eviction-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(Pod, ["delete"]), allowSubresource(Pod, "status", ["patch"])],
    concurrency: 8,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const pod = ctx.caches.pods.get(key);
      if (!pod?.spec.nodeName || pod.metadata.deletionTimestamp !== undefined) {
        if (pod) scheduled.delete(pod.metadata.uid);
        return;
      }
      await look(ctx, pod, scheduled);
    }),
  });
}

async function look(ctx: Context, pod: PodObject, scheduled: Set<string>): Promise<void> {
  const { uid, name, namespace } = pod.metadata;
  const nowMs = ctx.clock.now();
  const taints = ctx.caches.nodes.get(pod.spec.nodeName ?? "")?.spec.taints ?? [];
  const when = evictionTimeMs(taints, pod.spec.tolerations ?? [], nowMs);
  if (when === undefined) {
    if (!scheduled.delete(uid)) return;
    const message = `Cancelling deletion of Pod ${objectKey(pod)}`;
    ctx.event(pod, "Normal", "TaintManagerEviction", message);
    return;
  }
  if (when > nowMs) {
    scheduled.add(uid);
    ctx.recheck(when - nowMs);
    return;
  }
  scheduled.delete(uid);
  ctx.event(pod, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${objectKey(pod)}`);
  await markDisrupted(ctx, pod, {
    reason: "DeletionByTaintManager",
    message: "Taint manager: deleting due to NoExecute taint",
    at: formatTime(nowMs),
  });
  await ctx.kind(Pod).delete({ name, namespace }, { uid });
}
