/**
 * Installs the storage class `standard`, the default, with the first node of ours, when there is none of that name.
 * Others' nodes cannot mount its volumes, so a control plane that serves only those is left without it.
 *
 * Its volumes are bound at once instead of at their first consumer: every node of the cluster is on one machine and
 * reaches every directory, so there is nothing to wait for, and a pod's claim is bound by the time it is scheduled.
 */
import { isAlreadyExists } from "@keelson/client";
import { Node, type NodeStatus, StorageClass } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { cached, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager } from "../acting/acting.ts";
import { localProvisioner } from "./provisioned-volume.ts";

const className = "standard";

const watches = {
  nodes: watch(Node, {
    keys: ({ type, object }) => (type !== "deleted" && isOurs(object) ? [className] : []),
  }),
  classes: cached(StorageClass),
};

function isOurs({ status }: { readonly status?: NodeStatus }): boolean {
  return status?.nodeInfo?.containerRuntimeVersion.startsWith("keelson://") === true;
}

export function defaultClassInstaller(): RawController {
  // A class that is deleted later stays deleted.
  let isDone = false;
  return rawController({
    name: "default-storage-class",
    fieldManager: controllerManager,
    watches,
    writes: [allow(StorageClass, ["create"])],
    reconcile: async (name, ctx: RawContext<typeof watches>) => {
      if (isDone) return;
      if (!ctx.caches.classes.get(name)) await install(name, ctx);
      isDone = true;
    },
  });
}

async function install(name: string, ctx: RawContext<typeof watches>): Promise<void> {
  try {
    await ctx.kind(StorageClass).create({
      metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: localProvisioner,
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      allowVolumeExpansion: true,
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
