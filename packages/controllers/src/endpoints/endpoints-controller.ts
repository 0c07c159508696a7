/** Endpoints: the addresses behind each service, in one object of the service's name. */
import { isApiError } from "@keelson/client";
import { deepEqual, parseKey } from "@keelson/core";
import { Endpoints, Pod, Service } from "@keelson/core/kinds";
import { allow, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import {
  controllerManager,
  isNamespaceTerminating,
  serverMessage,
  yieldingToOthers,
} from "../acting/acting.ts";
import {
  hasSelector,
  headlessLabel,
  isHeadless,
  lastChangeAnnotation,
  type ServiceObject,
  selectedPods,
  servicesOfPod,
  TriggerTimes,
} from "./service-pods.ts";
import { subsetsOf, truncated } from "./subsets.ts";

const managedByLabel = "endpoints.kubernetes.io/managed-by";
const overCapacity = "endpoints.kubernetes.io/over-capacity";

const watches = {
  services: watch(Service),
  pods: watch(Pod, { keys: servicesOfPod }),
  endpoints: watch(Endpoints),
};

type Context = RawContext<typeof watches>;

export function endpointsController(): RawController {
  const times = new TriggerTimes();
  return rawController({
    name: "endpoint-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(Endpoints, ["create", "update", "delete"])],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const service = ctx.caches.services.get(key);
      if (service) await write(ctx, key, service, times);
      else await remove(ctx, key, times);
    }),
  });
}

/** Only what was ours goes with its service: others may keep endpoints without one. */
async function remove(ctx: Context, key: string, times: TriggerTimes): Promise<void> {
  const gone = ctx.causes.some(({ type, kind }) => type === "deleted" && kind === "Service");
  times.forget(key);
  const current = ctx.caches.endpoints.get(key);
  if (!current || (!gone && current.metadata.labels?.[managedByLabel] === undefined)) return;
  await ctx.kind(Endpoints).delete(parseKey(key), { uid: current.metadata.uid });
}

async function write(ctx: Context, key: string, service: ServiceObject, times: TriggerTimes): Promise<void> {
  if (!hasSelector(service)) return;
  const pods = selectedPods(service, ctx.caches.pods);
  const changedAt = times.next(service, pods);
  const { subsets, isTruncated } = truncated(subsetsOf(service, pods));
  const labels = labelsFor(service);
  const current = ctx.caches.endpoints.get(key);
  const wasTruncated = current?.metadata.annotations?.[overCapacity] === "truncated";
  if (
    current &&
    deepEqual(current.subsets ?? [], subsets) &&
    deepEqual(current.metadata.labels ?? {}, labels) &&
    wasTruncated === isTruncated
  ) {
    return;
  }
  const { [lastChangeAnnotation]: _, [overCapacity]: __, ...kept } = current?.metadata.annotations ?? {};
  const annotations = {
    ...kept,
    ...(changedAt === undefined ? {} : { [lastChangeAnnotation]: changedAt }),
    ...(isTruncated ? { [overCapacity]: "truncated" } : {}),
  };
  const { name, namespace } = service.metadata;
  try {
    if (current) {
      const metadata = { ...current.metadata, labels, annotations };
      await ctx.kind(Endpoints).update({ ...current, metadata, subsets });
    } else {
      await ctx.kind(Endpoints).create({ metadata: { name, namespace, labels, annotations }, subsets });
    }
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (isApiError(error)) {
      const [reason, verb] = current
        ? ["FailedToUpdateEndpoint", "update"]
        : ["FailedToCreateEndpoint", "create"];
      const message = `Failed to ${verb} endpoint ${current ? "" : "for service "}${key}: ${serverMessage(error)}`;
      ctx.event(current ?? service, "Warning", reason ?? "", message);
    }
    throw error;
  }
}

function labelsFor(service: ServiceObject): Record<string, string> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {};
  return {
    ...labels,
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    [managedByLabel]: "endpoint-controller",
  };
}
