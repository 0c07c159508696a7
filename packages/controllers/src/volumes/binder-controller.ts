/** Brings claims and volumes together, and lets volumes go when their claims do. */
import { objectKey } from "@keelson/core";
import { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  cached,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { decideClaim } from "./claim-decision.ts";
import { claimKeyOf, podIndexes } from "./claim-users.ts";
import { annotations, type ClaimObject, classOfClaim, classOfVolume, type VolumeObject } from "./matching.ts";
import { bind, markClaim, markVolume } from "./phases.ts";
import { decideVolume, unboundVolume } from "./volume-decision.ts";

/** Pending claims are looked at this often though nothing changed, so that their events stay fresh. */
const pendingMs = 15_000;

type Caches = Readonly<Record<string, CacheReader<never>>>;

const watches = {
  claims: watch(PersistentVolumeClaim, {
    indexes: {
      /** Claims whose bond is not complete, by class. */
      pending: (claim) =>
        claim.metadata.annotations?.[annotations.bindCompleted] === undefined ? [classOfClaim(claim)] : [],
      volume: (claim) => (claim.spec.volumeName ? [claim.spec.volumeName] : []),
    },
    keys: keysOfClaim,
  }),
  volumes: watch(PersistentVolume, {
    indexes: {
      class: (volume) => [classOfVolume(volume)],
      claim: (volume) => claimKeyOf(volume),
    },
    keys: keysOfVolume,
  }),
  classes: watch(StorageClass, { keys: keysOfClass }),
  pods: cached(Pod, { indexes: podIndexes }),
};

type Context = RawContext<typeof watches>;

/** Claims have keys with a slash, volumes without: both live in one queue. */
function* keysOfClaim(change: Change<ClaimObject>, caches: Caches): Iterable<string> {
  const key = objectKey(change.object);
  yield key;
  for (const { metadata } of cacheNamed<VolumeObject>(caches, "volumes").byIndex("claim", key)) {
    yield metadata.name;
  }
  if (change.object.spec.volumeName) yield change.object.spec.volumeName;
}

function* keysOfVolume(change: Change<VolumeObject>, caches: Caches): Iterable<string> {
  const claims = cacheNamed<ClaimObject>(caches, "claims");
  const { name } = change.object.metadata;
  yield name;
  for (const each of [change.object, change.previous]) if (each) yield* claimKeyOf(each);
  for (const claim of claims.byIndex("volume", name)) yield objectKey(claim);
  if (change.type !== "deleted" && change.object.spec.claimRef === undefined) {
    for (const claim of claims.byIndex("pending", classOfVolume(change.object))) yield objectKey(claim);
  }
}

function* keysOfClass(change: Change, caches: Caches): Iterable<string> {
  const claims = cacheNamed<ClaimObject>(caches, "claims");
  for (const name of [change.object.metadata.name, ""]) {
    for (const claim of claims.byIndex("pending", name)) yield objectKey(claim);
  }
}

export function volumeBinder(): RawController {
  return rawController({
    name: "persistentvolume-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allow(PersistentVolume, ["update"]),
      allowSubresource(PersistentVolume, "status", ["update"]),
      allow(PersistentVolumeClaim, ["update"]),
      allowSubresource(PersistentVolumeClaim, "status", ["update"]),
    ],
    concurrency: 8,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      if (key.includes("/")) {
        const claim = ctx.caches.claims.get(key);
        if (claim) await reconcileClaim(ctx, claim);
      } else {
        const volume = ctx.caches.volumes.get(key);
        if (volume) await reconcileVolume(ctx, volume);
      }
    }),
  });
}

async function reconcileClaim(ctx: Context, claim: ClaimObject): Promise<void> {
  const { caches } = ctx;
  const key = objectKey(claim);
  const decision = decideClaim(claim, {
    volume: (name) => caches.volumes.get(name),
    candidates: [
      ...new Set([
        ...caches.volumes.byIndex("claim", key),
        ...caches.volumes.byIndex("class", classOfClaim(claim)),
      ]),
    ],
    classes: caches.classes.list(),
    unscheduledPods: caches.pods
      .byIndex("claim", key)
      .filter((pod) => !pod.spec.nodeName)
      .map((pod) => pod.metadata.name),
  });
  switch (decision.type) {
    case "bind":
      await bind(ctx, decision.volume, claim);
      return;
    case "assign": {
      const spec = { ...claim.spec, storageClassName: decision.storageClass };
      await ctx.kind(PersistentVolumeClaim).update({ ...claim, spec });
      return;
    }
    case "provision":
      await askForVolume(ctx, claim, decision.provisioner);
      ctx.recheck(pendingMs);
      return;
    case "lose":
      if (claim.status?.phase === "Lost") return;
      await markClaim(ctx, claim, "Lost");
      ctx.event(claim, decision.told.type, decision.told.reason, decision.told.message);
      return;
    case "wait": {
      const { told } = decision;
      if (told) ctx.event(claim, told.type, told.reason, told.message);
      await markClaim(ctx, claim, "Pending");
      ctx.recheck(pendingMs);
    }
  }
}

/** Marks the claim for the provisioner that the class names. */
async function askForVolume(ctx: Context, claim: ClaimObject, provisioner: string): Promise<void> {
  const marks = claim.metadata.annotations ?? {};
  if (marks[annotations.provisioner] !== provisioner) {
    await ctx.kind(PersistentVolumeClaim).update({
      ...claim,
      metadata: {
        ...claim.metadata,
        annotations: {
          ...marks,
          [annotations.provisioner]: provisioner,
          [annotations.betaProvisioner]: provisioner,
        },
      },
    });
  }
  const message =
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the ` +
    "system administrator. If volume creation is delayed, please verify that the provisioner is running and " +
    "correctly registered.";
  ctx.event(claim, "Normal", "ExternalProvisioning", message);
}

async function reconcileVolume(ctx: Context, volume: VolumeObject): Promise<void> {
  const decision = decideVolume(volume, await claimOf(ctx, volume));
  switch (decision.type) {
    case "mark":
      await markVolume(ctx, volume, decision.phase);
      return;
    case "unbind":
      await markVolume(ctx, await ctx.kind(PersistentVolume).update(unboundVolume(volume)), "Available");
      return;
    case "mismatch": {
      const claim = decision.claim.metadata.name;
      const why = "due to incompatible volumeMode.";
      const forVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${JSON.stringify(claim)} ${why}`;
      ctx.event(volume, "Warning", "VolumeMismatch", forVolume);
      const forClaim = `Cannot bind PersistentVolume ${JSON.stringify(volume.metadata.name)} to requested PersistentVolumeClaim ${why}`;
      ctx.event(decision.claim, "Warning", "VolumeMismatch", forClaim);
      return;
    }
    case "release":
      await release(ctx, volume);
  }
}

/** The claim under the name that the volume points at; looked up again where its absence would cost data. */
async function claimOf(ctx: Context, { spec, status }: VolumeObject): Promise<ClaimObject | undefined> {
  const { claimRef } = spec;
  if (!claimRef?.name || !claimRef.uid) return undefined;
  const ref = { name: claimRef.name, namespace: claimRef.namespace };
  const known = ctx.caches.claims.get(objectKey({ metadata: ref }));
  if (known?.metadata.uid === claimRef.uid) return known;
  if (status?.phase === "Released" || status?.phase === "Failed") return known;
  return await ctx.kind(PersistentVolumeClaim).find(ref);
}

/** Retained volumes wait for a person, provisioned ones for their provisioner; nobody else deletes. */
async function release(ctx: Context, volume: VolumeObject): Promise<void> {
  const { phase } = volume.status ?? {};
  const released =
    phase === "Released" || phase === "Failed" ? volume : await markVolume(ctx, volume, "Released");
  const policy = released.spec.persistentVolumeReclaimPolicy ?? "Retain";
  if (policy === "Retain" || released.status?.phase === "Failed") return;
  const { name } = released.metadata;
  if (policy === "Recycle") {
    await fail(ctx, released, "VolumeFailedRecycle", "No recycler plugin found for the volume!");
  } else if (!released.metadata.annotations?.[annotations.provisionedBy] && !released.spec.csi) {
    const message = `error getting deleter volume plugin for volume ${JSON.stringify(name)}: no deletable volume plugin matched`;
    await fail(ctx, released, "VolumeFailedDelete", message);
  }
}

async function fail(ctx: Context, volume: VolumeObject, reason: string, message: string): Promise<void> {
  await markVolume(ctx, volume, "Failed", message);
  ctx.event(volume, "Warning", reason, message);
}
