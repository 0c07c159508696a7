/** Makes, grows and removes the volumes of claims whose class names `keelson.dev/local`. */
import { rm } from "node:fs/promises";
import { isAlreadyExists } from "@keelson/client";
import { objectKey } from "@keelson/core";
import { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { cached, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import { claimKeyOf } from "./claim-users.ts";
import { expansionOf } from "./expansion.ts";
import {
  annotations,
  type ClaimObject,
  classOfClaim,
  type VolumeObject,
  waitsForConsumer,
} from "./matching.ts";
import { markVolume } from "./phases.ts";
import {
  directoryOf,
  isOurs,
  localProvisioner,
  provisionedVolume,
  provisionerFinalizer,
  volumeNameFor,
} from "./provisioned-volume.ts";

/** How long until a directory that could not be removed is tried again. */
const retryMs = 15_000;

const watches = {
  claims: watch(PersistentVolumeClaim),
  volumes: watch(PersistentVolume, {
    keys: ({ object }) => (isOurs(object) ? [object.metadata.name, ...claimKeyOf(object)] : []),
  }),
  classes: cached(StorageClass),
  nodes: cached(Node),
};

type Context = RawContext<typeof watches>;

export interface LocalProvisionerOptions {
  /** Where volumes are made, on the machine that runs the nodes. */
  readonly directory: string;
  /** Removes a directory with all that is in it. Default: from this process. */
  readonly remove?: (path: string) => Promise<void>;
}

/** Makes a directory on this machine for each claim of the class `standard`, and removes it with the claim. */
export function localVolumeProvisioner({
  directory,
  remove = (path) => rm(path, { recursive: true, force: true }),
}: LocalProvisionerOptions): RawController {
  return rawController({
    name: "local-volume-provisioner",
    fieldManager: controllerManager,
    watches,
    writes: [
      allow(PersistentVolume, ["create", "update", "delete"]),
      allowSubresource(PersistentVolume, "status", ["update"]),
      allowSubresource(PersistentVolumeClaim, "status", ["update"]),
    ],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      if (!key.includes("/")) {
        const volume = ctx.caches.volumes.get(key);
        if (volume) await reclaim(ctx, volume, directory, remove);
        return;
      }
      const claim = ctx.caches.claims.get(key);
      if (claim?.metadata.annotations?.[annotations.provisioner] !== localProvisioner) return;
      if (claim.spec.volumeName) await expand(ctx, claim, claim.spec.volumeName);
      else await provision(ctx, claim, directory);
    }),
  });
}

async function provision(ctx: Context, claim: ClaimObject, directory: string): Promise<void> {
  const { caches } = ctx;
  const name = volumeNameFor(claim);
  const storageClass = caches.classes.get(classOfClaim(claim));
  if (!storageClass || storageClass.provisioner !== localProvisioner || caches.volumes.get(name)) return;
  if (claim.metadata.deletionTimestamp !== undefined) return;
  const fail = (message: string) => {
    const what = `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata.name)}`;
    ctx.event(claim, "Warning", "ProvisioningFailed", `${what}: ${message}`);
  };
  if (claim.spec.volumeMode === "Block") return fail("block volumes are not supported");
  if (claim.spec.dataSource || claim.spec.dataSourceRef) return fail("data sources are not supported");
  const selected = claim.metadata.annotations?.[annotations.selectedNode];
  const node = selected === undefined ? undefined : caches.nodes.get(selected);
  if (waitsForConsumer(storageClass) && !node) return;
  const started = `External provisioner is provisioning volume for claim ${JSON.stringify(objectKey(claim))}`;
  ctx.event(claim, "Normal", "Provisioning", started);
  const volume = provisionedVolume({ claim, storageClass, directory, ...(node ? { node } : {}) });
  try {
    await ctx.kind(PersistentVolume).create(volume);
  } catch (error) {
    if (!isAlreadyExists(error)) fail(serverMessage(error));
    throw error;
  }
  ctx.event(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${name}`);
}

async function expand(ctx: Context, claim: ClaimObject, volumeName: string): Promise<void> {
  const volume = ctx.caches.volumes.get(volumeName);
  if (!volume || !isOurs(volume) || volume.spec.claimRef?.uid !== claim.metadata.uid) return;
  const expansion = expansionOf(claim, volume);
  if (!expansion) return;
  if (expansion.volume) {
    ctx.event(claim, "Normal", "Resizing", `External resizer is resizing volume ${volumeName}`);
    await ctx.kind(PersistentVolume).update(expansion.volume);
  }
  await ctx
    .kind(PersistentVolumeClaim)
    .subresource("status")
    .update({ ...claim, status: expansion.status });
  ctx.event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
}

/** Removes the directory of a released volume whose policy says so, and then lets its object go. */
async function reclaim(
  ctx: Context,
  volume: VolumeObject,
  parent: string,
  remove: (path: string) => Promise<void>,
): Promise<void> {
  if (!isOurs(volume)) return;
  const isLeaving = volume.metadata.deletionTimestamp !== undefined;
  if (volume.spec.persistentVolumeReclaimPolicy !== "Delete") {
    if (isLeaving) await letGo(ctx, volume);
    return;
  }
  const { phase } = volume.status ?? {};
  if (phase !== "Released" && phase !== "Failed") return;
  const path = directoryOf(volume, parent);
  try {
    if (path === undefined) throw new Error(`its directory is not one of those in ${parent}`);
    await remove(path);
  } catch (error) {
    const message = `cannot remove the volume's directory: ${serverMessage(error)}`;
    ctx.event(volume, "Warning", "VolumeFailedDelete", message);
    await markVolume(ctx, volume, "Failed", message);
    ctx.recheck(retryMs);
    return;
  }
  const { name, uid } = volume.metadata;
  const left = isLeaving ? volume : await ctx.kind(PersistentVolume).delete({ name }, { uid });
  if (left) await letGo(ctx, left);
}

async function letGo(ctx: Context, volume: VolumeObject): Promise<void> {
  const finalizers = volume.metadata.finalizers ?? [];
  if (!finalizers.includes(provisionerFinalizer)) return;
  const rest = finalizers.filter((each) => each !== provisionerFinalizer);
  await ctx.kind(PersistentVolume).update({ ...volume, metadata: { ...volume.metadata, finalizers: rest } });
}
