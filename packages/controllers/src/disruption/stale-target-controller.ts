/** Takes back the mark of pods that were to be disrupted and were not. */
import { formatTime, objectKey, parseTime } from "@keelson/core";
import { Pod, type PodCondition } from "@keelson/core/kinds";
import { allowSubresource, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { isPodActive, type PodObject, podCondition } from "@keelson/workloads";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";

const targetType = "DisruptionTarget";

/** A mark that nobody acted on for this long is stale. */
const staleMs = 120_000;

/** How long until the mark is stale; undefined without a mark that can be. The kubelet's own may take any time. */
export function staleInMs(pod: PodObject, nowMs: number): number | undefined {
  const mark = podCondition(pod, targetType);
  if (!isPodActive(pod) || mark?.status !== "True" || mark.reason === "TerminationByKubelet")
    return undefined;
  const since = mark.lastTransitionTime ? parseTime(mark.lastTransitionTime) : 0;
  return Math.max(0, since + staleMs - nowMs);
}

const watches = {
  pods: watch(Pod, {
    keys: ({ object }) => (podCondition(object, targetType)?.status === "True" ? [objectKey(object)] : []),
  }),
};

export function staleDisruptionController(): RawController {
  return rawController({
    name: "stale-disruption-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(Pod, "status", ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: RawContext<typeof watches>) => {
      const pod = ctx.caches.pods.get(key);
      const nowMs = ctx.clock.now();
      const waitMs = pod && staleInMs(pod, nowMs);
      if (!pod || waitMs === undefined) return;
      if (waitMs > 0) {
        ctx.recheck(waitMs);
        return;
      }
      const mark: PodCondition = { type: targetType, status: "False", lastTransitionTime: formatTime(nowMs) };
      const conditions = pod.status?.conditions?.map((each) => (each.type === targetType ? mark : each));
      await ctx
        .kind(Pod)
        .subresource("status")
        .update({ ...pod, status: { ...pod.status, ...(conditions ? { conditions } : {}) } });
    }),
  });
}
