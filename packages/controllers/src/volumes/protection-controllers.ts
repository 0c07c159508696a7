/** Keeps claims that pods use, and volumes that claims use, from being removed under them. */
import { objectKey, type Stored } from "@keelson/core";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { claimKeysOf, keepsClaim, podIndexes } from "./claim-users.ts";

export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

/** The finalizers as they should be; undefined when they are. */
export function protectedFinalizers(
  { metadata }: Pick<Stored, "metadata">,
  finalizer: string,
  isUsed: boolean,
): string[] | undefined {
  const finalizers = metadata.finalizers ?? [];
  const has = finalizers.includes(finalizer);
  if (metadata.deletionTimestamp === undefined) return has ? undefined : [...finalizers, finalizer];
  return has && !isUsed ? finalizers.filter((each) => each !== finalizer) : undefined;
}

const claimWatches = {
  claims: watch(PersistentVolumeClaim),
  pods: watch(Pod, {
    indexes: podIndexes,
    keys: ({ object }) => claimKeysOf(object),
  }),
};

export function claimProtectionController(): RawController {
  return rawController({
    name: "persistentvolumeclaim-protection-controller",
    fieldManager: controllerManager,
    watches: claimWatches,
    writes: [allow(PersistentVolumeClaim, ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: RawContext<typeof claimWatches>) => {
      const claim = ctx.caches.claims.get(key);
      if (!claim) return;
      const isLeaving = claim.metadata.deletionTimestamp !== undefined;
      if (protectedFinalizers(claim, claimProtection, false) === undefined) return;
      let isUsed = isLeaving && ctx.caches.pods.byIndex("claim", key).some((pod) => keepsClaim(pod, claim));
      if (isLeaving && !isUsed) {
        // The cache may not know the newest pod yet, and what is removed now is gone.
        const { items } = await ctx.kind(Pod).list({ namespace: claim.metadata.namespace });
        isUsed = items.some((pod) => keepsClaim(pod, claim));
      }
      const finalizers = protectedFinalizers(claim, claimProtection, isUsed);
      if (!finalizers) return;
      await ctx.kind(PersistentVolumeClaim).update({ ...claim, metadata: { ...claim.metadata, finalizers } });
    }),
  });
}

const volumeWatches = { volumes: watch(PersistentVolume) };

export function volumeProtectionController(): RawController {
  return rawController({
    name: "persistentvolume-protection-controller",
    fieldManager: controllerManager,
    watches: volumeWatches,
    writes: [allow(PersistentVolume, ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: RawContext<typeof volumeWatches>) => {
      const volume = ctx.caches.volumes.get(key);
      if (!volume) return;
      const isUsed = volume.status?.phase === "Bound";
      const finalizers = protectedFinalizers(volume, volumeProtection, isUsed);
      if (!finalizers) return;
      ctx.log.debug("protection of a volume changes", { volume: objectKey(volume), finalizers });
      await ctx.kind(PersistentVolume).update({ ...volume, metadata: { ...volume.metadata, finalizers } });
    }),
  });
}
