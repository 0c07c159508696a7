/** Namespaces that are being deleted: their content goes, pods first, and then they may go themselves. */
import { type Client, isApiError } from "@keelson/client";
import { type AnyKind, type ObjectOf, parseTime, type Stored } from "@keelson/core";
import { Namespace } from "@keelson/core/kinds";
import { allowSubresource, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import { discoverAll, type ServedKind } from "../everything/discovery.ts";
import { type Emptying, isEmptied, namespaceConditions } from "./namespace-conditions.ts";

export interface NamespaceControllerOptions {
  /** Lists and deletes objects of all kinds, which no declaration could list. */
  readonly client: Client;
}

type NamespaceObject = ObjectOf<typeof Namespace>;

const finalizer = "kubernetes";
/** What is left is looked at again soon at first, and less often the longer it takes. */
const soonMs = 100;
const latestMs = 5_000;

const watches = { namespaces: watch(Namespace) };

type Context = RawContext<typeof watches>;

export function namespaceController({ client }: NamespaceControllerOptions): RawController {
  return rawController({
    name: "namespace-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allowSubresource(Namespace, "status", ["update"]),
      allowSubresource(Namespace, "finalize", ["update"]),
    ],
    concurrency: 10,
    reconcile: yieldingToOthers(async (name, ctx: Context) => {
      const namespace = ctx.caches.namespaces.get(name);
      if (namespace?.metadata.deletionTimestamp === undefined) return;
      if (!namespace.spec.finalizers?.includes(finalizer)) return;
      await remove(ctx, client, namespace);
    }),
  });
}

async function remove(ctx: Context, client: Client, given: NamespaceObject): Promise<void> {
  let namespace = given;
  if (namespace.status?.phase !== "Terminating") {
    const status = { ...namespace.status, phase: "Terminating" as const };
    namespace = await ctx
      .kind(Namespace)
      .subresource("status")
      .update({ ...namespace, status });
  }
  const found = await empty(client, namespace.metadata.name);
  const conditions = namespaceConditions(namespace.status?.conditions ?? [], found, ctx.clock.now());
  if (conditions !== namespace.status?.conditions) {
    const status = { ...namespace.status, conditions: [...conditions] };
    namespace = await ctx
      .kind(Namespace)
      .subresource("status")
      .update({ ...namespace, status });
  }
  if (!isEmptied(found)) {
    const sinceMs = ctx.clock.now() - parseTime(namespace.metadata.deletionTimestamp ?? "");
    ctx.recheck(Math.min(latestMs, Math.max(soonMs, sinceMs / 4)));
    return;
  }
  const finalizers = (namespace.spec.finalizers ?? []).filter((each) => each !== finalizer);
  await ctx
    .kind(Namespace)
    .subresource("finalize")
    .update({ ...namespace, spec: { ...namespace.spec, finalizers } });
}

/** Deletes what is in the namespace and says what is left. Nothing else goes before the last pod has. */
async function empty(client: Client, namespace: string): Promise<Emptying> {
  const { kinds, failures } = await discoverAll(client);
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const deleteFailures: string[] = [];
  const look = async ({ kind, verbs }: ServedKind) => {
    try {
      for (const object of await emptyOne(client, kind, verbs, namespace)) {
        const resource = `${kind.resource}.${kind.group}`;
        remaining.set(resource, (remaining.get(resource) ?? 0) + 1);
        for (const each of object.metadata.finalizers ?? [])
          finalizers.set(each, (finalizers.get(each) ?? 0) + 1);
      }
    } catch (error) {
      if (!isApiError(error)) throw error;
      // A kind that went away meanwhile leaves nothing behind.
      if (error.code !== 404 && error.code !== 405) deleteFailures.push(serverMessage(error));
    }
  };
  const namespaced = kinds.filter(
    ({ kind, verbs }) => kind.scope === "Namespaced" && verbs.includes("delete") && verbs.includes("list"),
  );
  const isPods = ({ kind }: ServedKind) => kind.group === "" && kind.resource === "pods";
  for (const pods of namespaced.filter(isPods)) await look(pods);
  const podsFirst = remaining.size > 0;
  if (!podsFirst) await Promise.all(namespaced.filter((served) => !isPods(served)).map(look));
  return { remaining, finalizers, discoveryFailures: failures, deleteFailures, podsFirst };
}

/** Deletes the objects of one kind and returns those that are still there. */
async function emptyOne(
  client: Client,
  kind: AnyKind,
  verbs: readonly string[],
  namespace: string,
): Promise<readonly Stored[]> {
  const list = async () => (await client.kind(kind).list({ namespace })).items as readonly Stored[];
  const before = await list();
  const leaving = before.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (leaving.length === 0) return before;
  if (verbs.includes("deletecollection")) {
    await client.kind(kind).deleteAll({ namespace, propagation: "Background" });
  } else {
    for (const { metadata } of leaving) {
      await client.kind(kind).delete({ namespace, name: metadata.name }, { propagation: "Background" });
    }
  }
  return await list();
}
