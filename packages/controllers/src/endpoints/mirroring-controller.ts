/** Mirrors endpoints that are kept by hand into slices, where everybody looks today. */
import { objectKey } from "@keelson/core";
import { EndpointSlice, Endpoints, Service } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { isMirrored, mirror, mirroringController } from "./mirrored-slices.ts";
import { managedByLabel, type SliceObject, serviceNameLabel } from "./slices.ts";

function endpointsOfSlice({ metadata }: SliceObject): string[] {
  const name = metadata.labels?.[serviceNameLabel];
  if (metadata.labels?.[managedByLabel] !== mirroringController || !name) return [];
  return [objectKey({ metadata: { namespace: metadata.namespace, name } })];
}

const watches = {
  endpoints: watch(Endpoints),
  services: watch(Service),
  slices: watch(EndpointSlice, {
    indexes: { endpoints: endpointsOfSlice },
    keys: ({ object }) => endpointsOfSlice(object),
  }),
};

type Context = RawContext<typeof watches>;

export function endpointSliceMirroringController(): RawController {
  return rawController({
    name: "endpoint-slice-mirroring-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(EndpointSlice, ["create", "update", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const { caches } = ctx;
      const endpoints = caches.endpoints.get(key);
      const service = caches.services.get(key);
      const existing = caches.slices.byIndex("endpoints", key);
      if (!endpoints || !service || service.spec.selector !== undefined || !isMirrored(endpoints)) {
        for (const { metadata } of existing)
          await ctx.kind(EndpointSlice).delete(metadata, { uid: metadata.uid });
        return;
      }
      const { create, update, remove, invalid, skipped } = mirror(endpoints, existing);
      if (invalid > 0) {
        const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
        ctx.event(endpoints, "Warning", "InvalidIPAddress", message);
      }
      if (skipped > invalid) {
        const message =
          "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. " +
          `${skipped} addresses were skipped`;
        ctx.event(endpoints, "Warning", "TooManyAddressesToMirror", message);
      }
      for (const slice of create) await ctx.kind(EndpointSlice).create(slice);
      for (const slice of update) await ctx.kind(EndpointSlice).update(slice);
      for (const { metadata } of remove)
        await ctx.kind(EndpointSlice).delete(metadata, { uid: metadata.uid });
    }),
  });
}
