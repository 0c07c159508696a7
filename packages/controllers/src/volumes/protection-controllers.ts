/** Keeps claims that pods use, volumes that claims use, and classes that either uses from being removed under them. */
import { type ObjectOf, objectKey, type Stored } from "@keelson/core";
import { PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttributesClass } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { claimKeysOf, keepsClaim, podIndexes } from "./claim-users.ts";

export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";
const attributesProtection = "kubernetes.io/vac-protection";

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

/** The classes that a claim has, wants, or is on its way to. */
function attributesOfClaim({ spec, status }: ObjectOf<typeof PersistentVolumeClaim>): string[] {
  const names = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ""))] as string[];
}

function attributesOfVolume({ spec }: ObjectOf<typeof PersistentVolume>): string[] {
  return spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}

const attributesWatches = {
  classes: watch(VolumeAttributesClass),
  claims: watch(PersistentVolumeClaim, {
    indexes: { attributes: attributesOfClaim },
    keys: ({ object, previous }) => [object, ...(previous ? [previous] : [])].flatMap(attributesOfClaim),
  }),
  volumes: watch(PersistentVolume, {
    indexes: { attributes: attributesOfVolume },
    keys: ({ object, previous }) => [object, ...(previous ? [previous] : [])].flatMap(attributesOfVolume),
  }),
};

export function attributesProtectionController(): RawController {
  return rawController({
    name: "volumeattributesclass-protection-controller",
    fieldManager: controllerManager,
    watches: attributesWatches,
    writes: [allow(VolumeAttributesClass, ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: RawContext<typeof attributesWatches>) => {
      const found = ctx.caches.classes.get(key);
      if (!found) return;
      const { claims, volumes } = ctx.caches;
      const isUsed =
        claims.byIndex("attributes", key).length > 0 || volumes.byIndex("attributes", key).length > 0;
      const finalizers = protectedFinalizers(found, attributesProtection, isUsed);
      if (!finalizers) return;
      await ctx.kind(VolumeAttributesClass).update({ ...found, metadata: { ...found.metadata, finalizers } });
    }),
  });
}
