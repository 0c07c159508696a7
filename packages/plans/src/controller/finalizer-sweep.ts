/** Takes a finalizer away that nobody serves any more. */
import type { AnyKind, Stored } from "@keelson/core";
import { allow, type RawController } from "@keelson/runtime";
import { type CacheReader, type RawContext, rawController, watch } from "@keelson/runtime/internal";

/** The name of the sweep beside a controller. */
export function sweepName(controller: string): string {
  return `sweep-${controller}`.slice(0, 63);
}

/** Objects that were made while there was a plan before they go would never go without it. */
export function finalizerSweep(name: string, kind: AnyKind, finalizer: string): RawController {
  return rawController({
    name,
    watches: { objects: watch(kind) },
    writes: [allow(kind, ["patch"])],
    reconcile: async (key, given) => {
      const ctx = given as RawContext;
      const object = (ctx.caches["objects"] as unknown as CacheReader<Stored>).get(key);
      if (!object?.metadata.finalizers?.includes(finalizer)) return;
      const { namespace, name: of, uid, resourceVersion, finalizers } = object.metadata;
      const others = finalizers.filter((each) => each !== finalizer);
      const body = { metadata: { uid, resourceVersion, finalizers: others } };
      await ctx.kind(kind).patch({ namespace, name: of }, { type: "merge", body });
    },
  });
}
