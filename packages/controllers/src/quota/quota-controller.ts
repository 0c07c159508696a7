/** Counts what a namespace uses of its quotas. The API server adds what it admits; what goes is found here. */
import { type Client, isNotFound } from "@keelson/client";
import { type AnyKind, deepEqual, objectKey, type Stored } from "@keelson/core";
import {
  ConfigMap,
  CronJob,
  DaemonSet,
  Deployment,
  Ingress,
  Job,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
} from "@keelson/core/kinds";
import { allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  type RawContext,
  type RawWatch,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import { isPodFinished, type PodObject } from "@keelson/workloads";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { discoverAll } from "../everything/discovery.ts";
import {
  type Countable,
  type Counted,
  countablesOf,
  counts,
  type QuotaObject,
  quotaStatus,
} from "./quota-usage.ts";

/** Kinds of which only the number matters and nobody else here has a whole copy. */
const metadataOnly: readonly AnyKind[] = [ConfigMap, Secret, Ingress];
const whole: readonly AnyKind[] = [
  Pod,
  Service,
  PersistentVolumeClaim,
  ServiceAccount,
  ReplicationController,
  Deployment,
  ReplicaSet,
  StatefulSet,
  DaemonSet,
  Job,
  CronJob,
];

/** Counted kinds without a watch are listed this often. */
const listMs = 10_000;
const resyncMs = 300_000;

/**
 * Marks keys of quotas of which something came. It was counted when it was admitted, as others may have been that we
 * do not see yet: a smaller number would lose those. A larger one is of what came before the quota did.
 */
const moreOnly = "+";

/** Of some kinds more than the number counts, and that may become less. */
function mayUseLess(kind: AnyKind, object: Stored): boolean {
  if (kind === Pod)
    return isPodFinished(object as PodObject) || object.metadata.deletionTimestamp !== undefined;
  return kind === Service || kind === PersistentVolumeClaim;
}

function quotasOf(kind: AnyKind) {
  return function* (
    { type, object }: Change<Stored>,
    caches: Readonly<Record<string, CacheReader<never>>>,
  ): Iterable<string> {
    if (type === "modified" && !mayUseLess(kind, object)) return;
    for (const quota of cacheNamed<QuotaObject>(caches, "quotas").list(object.metadata.namespace)) {
      if (counts(quota, kind)) yield type === "added" ? moreOnly + objectKey(quota) : objectKey(quota);
    }
  };
}

const watches: { readonly quotas: RawWatch<typeof ResourceQuota> } & Record<string, RawWatch> = {
  quotas: watch(ResourceQuota, {
    keys: function* (change, caches) {
      const { spec, status } = change.object;
      // Status is written by who admits, ahead of what we see: only what is asked for is news.
      if (change.type === "added" || !deepEqual(spec.hard ?? {}, status?.hard ?? {}))
        yield objectKey(change.object);
      yield* quotasOf(ResourceQuota)(change, caches);
    },
  }),
  ...Object.fromEntries([
    ...whole.map((kind) => [nameOf(kind), watch(kind, { keys: quotasOf(kind) })]),
    ...metadataOnly.map((kind) => [nameOf(kind), watch(kind, { metadataOnly: true, keys: quotasOf(kind) })]),
  ]),
};

function nameOf({ group, resource }: Countable): string {
  return group === "" && resource === "resourcequotas" ? "quotas" : `${group}/${resource}`;
}

type Context = RawContext<typeof watches>;

export interface QuotaControllerOptions {
  /** Lists objects of kinds of which we learn only from quotas. */
  readonly client: Client;
}

export function quotaController({ client }: QuotaControllerOptions): RawController {
  return rawController({
    name: "resourcequota-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(ResourceQuota, "status", ["update"])],
    resyncMs,
    reconcile: yieldingToOthers(async (marked, ctx: Context) => {
      const isMoreOnly = marked.startsWith(moreOnly);
      const quota = ctx.caches.quotas.get(isMoreOnly ? marked.slice(1) : marked) as QuotaObject | undefined;
      if (!quota) return;
      const counted = await Promise.all(countablesOf(quota).map((each) => count(ctx, client, quota, each)));
      const known = counted.filter((each) => each !== undefined);
      const status = quotaStatus(quota, known, ctx.clock.now(), isMoreOnly);
      if (!status) return;
      await ctx
        .kind(ResourceQuota)
        .subresource("status")
        .update({ ...quota, status });
    }),
  });
}

/** The objects that count; undefined for a resource that the server does not have. */
async function count(
  ctx: Context,
  client: Client,
  { metadata }: QuotaObject,
  { group, resource }: Countable,
): Promise<Counted | undefined> {
  const cache = ctx.caches[nameOf({ group, resource })];
  if (cache) return { group, resource, objects: cache.list(metadata.namespace) };
  ctx.recheck(listMs);
  const { kinds } = await discoverAll(client, ctx.signal);
  const served = kinds.find(({ kind }) => kind.group === group && kind.resource === resource);
  if (served?.kind.scope !== "Namespaced" || !served.verbs.includes("list")) return undefined;
  try {
    const { items } = await client.kind(served.kind).list({ namespace: metadata.namespace });
    return { group, resource, objects: items };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
