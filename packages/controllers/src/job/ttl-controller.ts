/** Deletes jobs a while after they ended. */
import { isConflict } from "@keelson/client";
import { parseTime } from "@keelson/core";
import { Job } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager } from "../acting/acting.ts";
import type { JobObject } from "./job-pods.ts";
import { trueCondition } from "./job-result.ts";

const watches = { jobs: watch(Job) };

/** When the job ended, in milliseconds; undefined while it has not. */
export function endedMs(job: JobObject): number | undefined {
  const condition = trueCondition(job, "Complete") ?? trueCondition(job, "Failed");
  return condition?.lastTransitionTime ? parseTime(condition.lastTransitionTime) : undefined;
}

export function ttlAfterFinishedController(): RawController {
  return rawController({
    name: "ttl-after-finished-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(Job, ["delete"])],
    reconcile: async (key, ctx: RawContext<typeof watches>) => {
      const job = ctx.caches.jobs.get(key);
      const ended = job && endedMs(job);
      if (!job || job.metadata.deletionTimestamp !== undefined || ended === undefined) return;
      const { ttlSecondsAfterFinished } = job.spec;
      if (ttlSecondsAfterFinished === undefined) return;
      const left = ended + ttlSecondsAfterFinished * 1000 - ctx.clock.now();
      if (left > 0) {
        ctx.recheck(left);
        return;
      }
      const { uid, resourceVersion } = job.metadata;
      try {
        // The version guards against a longer time that the cache has not seen yet.
        await ctx.kind(Job).delete(job.metadata, { uid, resourceVersion, propagation: "Foreground" });
      } catch (error) {
        if (!isConflict(error)) throw error;
        ctx.recheck(100);
      }
    },
  });
}
