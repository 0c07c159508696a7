/** Makes the claims of generic ephemeral volumes: they live as long as their pod. */
import { isAlreadyExists } from "@keelson/client";
import { objectKey } from "@keelson/core";
import { PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { isPodActive, type PodObject } from "@keelson/workloads";
import { controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import { ControllerError } from "../acting/errors.ts";
import { controllerReference } from "../ownership/owner-reference.ts";
import { ephemeralClaimName, isForPod, podIndexes } from "./claim-users.ts";

const watches = {
  pods: watch(Pod, {
    indexes: podIndexes,
    keys: ({ object }) =>
      object.spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) ? [objectKey(object)] : [],
  }),
  claims: watch(PersistentVolumeClaim, {
    keys: ({ type, object }, caches) =>
      type === "deleted" ? (caches.pods?.byIndex("claim", objectKey(object)) ?? []).map(objectKey) : [],
  }),
};

type Context = RawContext<typeof watches>;

export function ephemeralVolumeController(): RawController {
  return rawController({
    name: "ephemeral-volume-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(PersistentVolumeClaim, ["create"])],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const pod = ctx.caches.pods.get(key);
      if (!pod || !isPodActive(pod)) return;
      for (const volume of pod.spec.volumes ?? []) {
        if (!volume.ephemeral) continue;
        try {
          await ensureClaim(ctx, pod, volume);
        } catch (error) {
          const message = `ephemeral volume ${volume.name}: ${serverMessage(error)}`;
          if (!isAlreadyExists(error)) ctx.event(pod, "Warning", "FailedBinding", message);
          throw error;
        }
      }
    }),
  });
}

type PodVolume = NonNullable<PodObject["spec"]["volumes"]>[number];

async function ensureClaim(ctx: Context, pod: PodObject, volume: PodVolume): Promise<void> {
  const name = ephemeralClaimName(pod, volume);
  const { namespace = "" } = pod.metadata;
  const existing = ctx.caches.claims.get(`${namespace}/${name}`);
  if (existing) {
    if (isForPod(existing, pod)) return;
    throw new ControllerError(
      "InvalidObject",
      `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  }
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (!template) return;
  const { annotations, labels } = template.metadata ?? {};
  await ctx.kind(PersistentVolumeClaim).create({
    metadata: {
      name,
      namespace,
      ownerReferences: [controllerReference(pod, Pod)],
      ...(annotations ? { annotations } : {}),
      ...(labels ? { labels } : {}),
    },
    spec: template.spec,
  });
}
