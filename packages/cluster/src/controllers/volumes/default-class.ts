/**
 * Installs the storage class `standard`, the default, when the cluster has none of that name.
 *
 * Its volumes are bound at once instead of at their first consumer: every node of the cluster is on one machine and
 * reaches every directory, so there is nothing to wait for, and a pod's claim is bound by the time it is scheduled.
 */
import { isAlreadyExists } from "@keelson/client";
import { Namespace, StorageClass } from "@keelson/core/kinds";
import { allow, cached, type RawContext, type RawController, rawController, watch } from "@keelson/runtime";
import { controllerManager } from "../acting.ts";
import { localProvisioner } from "./provisioned-volume.ts";

const className = "standard";

const watches = {
  /** Every cluster has it: its first appearance is the start. A class that is deleted later stays deleted. */
  namespaces: watch(Namespace, {
    fields: "metadata.name=kube-system",
    keys: ({ type }) => (type === "added" ? [className] : []),
  }),
  classes: cached(StorageClass),
};

export function defaultClassInstaller(): RawController {
  return rawController({
    name: "default-storage-class",
    fieldManager: controllerManager,
    watches,
    writes: [allow(StorageClass, ["create"])],
    reconcile: async (name, ctx: RawContext<typeof watches>) => {
      if (ctx.caches.classes.get(name)) return;
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
    },
  });
}
