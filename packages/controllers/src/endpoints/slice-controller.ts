/** EndpointSlices: the addresses behind each service, in slices that stay small. */
import { isApiError, isNotFound } from "@keelson/client";
import { type InputOf, objectKey } from "@keelson/core";
import { EndpointSlice, Node, Pod, Service } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import type { NodeObject, PodObject } from "@keelson/workloads";
import {
  cacheNamed,
  controllerManager,
  isNamespaceTerminating,
  serverMessage,
  yieldingToOthers,
} from "../acting/acting.ts";
import { ControllerError } from "../acting/errors.ts";
import {
  belongsInEndpoints,
  hasSelector,
  lastChangeAnnotation,
  type ServiceObject,
  selectedPods,
  servicesOfPod,
  TriggerTimes,
} from "./service-pods.ts";
import {
  controllerName,
  isOnMissingNode,
  managedByLabel,
  type SliceObject,
  serviceNameLabel,
  sliceChanges,
} from "./slices.ts";

const watches = {
  services: watch(Service),
  pods: watch(Pod, {
    indexes: { node: (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []) },
    keys: servicesOfPod,
  }),
  slices: watch(EndpointSlice, {
    indexes: { service: (slice) => serviceOfSlice(slice) },
    keys: ({ object }) => serviceOfSlice(object),
  }),
  nodes: watch(Node, { keys: servicesOnNode }),
};

type Context = RawContext<typeof watches>;

/** Slices that somebody else manages are none of ours. */
function serviceOfSlice({ metadata }: SliceObject): string[] {
  const name = metadata.labels?.[serviceNameLabel];
  if (metadata.labels?.[managedByLabel] !== controllerName || !name) return [];
  return [objectKey({ metadata: { namespace: metadata.namespace, name } })];
}

/** A node that comes or goes matters to the services whose pods it holds. */
function* servicesOnNode(
  { type, object, previous }: Change<NodeObject>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  const zone = "topology.kubernetes.io/zone";
  if (type === "modified" && object.metadata.labels?.[zone] === previous?.metadata.labels?.[zone]) return;
  for (const pod of cacheNamed<PodObject>(caches, "pods").byIndex("node", object.metadata.name)) {
    yield* servicesOfPod({ object: pod, previous: undefined }, caches);
  }
}

export function endpointSliceController(): RawController {
  const times = new TriggerTimes();
  return rawController({
    name: "endpoint-slice-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(EndpointSlice, ["create", "update", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const service = ctx.caches.services.get(key);
      // Slices of a service that is gone go by their owner.
      if (!service) times.forget(key);
      else if (hasSelector(service)) await reconcile(ctx, key, service, times);
    }),
  });
}

async function reconcile(
  ctx: Context,
  key: string,
  service: ServiceObject,
  times: TriggerTimes,
): Promise<void> {
  const { pods, nodes, slices } = ctx.caches;
  const selected = selectedPods(service, pods);
  const findNode = (name: string) => nodes.get(name);
  const existing = slices
    .byIndex("service", key)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const changedAt = times.next(service, selected);
  const changes = sliceChanges(service, selected, existing, findNode);
  try {
    if (service.metadata.deletionTimestamp === undefined) {
      for (const slice of changes.create) await ctx.kind(EndpointSlice).create(dated(slice, changedAt));
    }
    for (const slice of changes.update) await ctx.kind(EndpointSlice).update(dated(slice, changedAt));
    for (const { metadata } of changes.remove)
      await ctx.kind(EndpointSlice).delete(metadata, { uid: metadata.uid });
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (isApiError(error) && !isNotFound(error)) {
      const message = `Error updating Endpoint Slices for Service ${key}: ${serverMessage(error)}`;
      ctx.event(service, "Warning", "FailedToUpdateEndpointSlices", message);
    }
    throw error;
  }
  const lost = selected.find(
    (pod) => belongsInEndpoints(pod, true) && isOnMissingNode(pod, service, findNode),
  );
  if (lost) {
    const node = lost.spec.nodeName ?? "";
    throw new ControllerError(
      "Incomplete",
      `skipping Pod ${lost.metadata.name} for Service ${key}: Node ${node} Not Found`,
    );
  }
}

type Slice = InputOf<typeof EndpointSlice>;

/** The slice with the time of the change that led to it; without one when nothing dated changed. */
function dated(slice: Slice, changedAt: string | undefined): Slice {
  const { [lastChangeAnnotation]: _, ...kept } = slice.metadata?.annotations ?? {};
  const annotations = changedAt === undefined ? kept : { ...kept, [lastChangeAnnotation]: changedAt };
  return { ...slice, metadata: { ...slice.metadata, annotations } };
}
