/** Runs the collector over every kind there is, and keeps the list of kinds up to date. */
import type { Client } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { CustomResourceDefinition, Namespace } from "@keelson/core/kinds";
import type { RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { EveryKind } from "../everything/every-kind.ts";
import { Collector } from "./collector.ts";

export interface GarbageCollectorOptions {
  /** Reads and deletes objects of all kinds, which no declaration could list. */
  readonly client: Client;
  /** Ends the watches of all kinds. */
  readonly signal: AbortSignal;
}

const key = "discovery";
/** Servers of others may come and go without a sign. */
const refreshMs = 30_000;
/** A definition is served a moment after it is established. */
const soonMs = 1_000;

const APIService = dynamicKind({
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  resource: "apiservices",
  scope: "Cluster",
});

const watches = {
  // Every cluster has it: there may be nothing else to begin with.
  namespaces: watch(Namespace, { fields: "metadata.name=default", keys: () => [key] }),
  definitions: watch(CustomResourceDefinition, { keys: () => [key] }),
  services: watch(APIService, { keys: () => [key] }),
};

type Context = RawContext<typeof watches>;

export function garbageCollector({ client, signal }: GarbageCollectorOptions): RawController {
  let running: { readonly everything: EveryKind; readonly collector: Collector } | undefined;
  return rawController({
    name: "garbage-collector-controller",
    watches,
    concurrency: 1,
    reconcile: async (_key, ctx: Context) => {
      running ??= begin(ctx, client, signal);
      const before = kindsOf(running.everything);
      await running.everything.refresh();
      if (signal.aborted) return;
      running.collector.start();
      const isNew = kindsOf(running.everything) !== before;
      if (isNew && before !== "") running.collector.lookAtAll();
      ctx.recheck(isAwaited(ctx, running.everything) ? soonMs : refreshMs);
    },
  });
}

function begin(ctx: Context, client: Client, signal: AbortSignal) {
  const { clock, random, log, event } = ctx;
  const everything = new EveryKind({ client, clock, log, signal });
  return { everything, collector: new Collector({ client, everything, clock, random, log, event, signal }) };
}

function kindsOf({ known }: EveryKind): string {
  return known.kinds.map(({ kind }) => `${kind.group}/${kind.version}/${kind.resource}`).join(" ");
}

/** Whether a definition is established and not served yet. */
function isAwaited({ caches }: Context, { known }: EveryKind): boolean {
  return caches.definitions
    .list()
    .some(
      ({ spec, status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") &&
        !known.kinds.some(({ kind }) => kind.group === spec.group && kind.resource === spec.names.plural),
    );
}
