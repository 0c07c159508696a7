/** The verbs of the resource API and the handlers of its subresources, over one registry. */
import type { Random } from "@keelson/core";
import { namespaceLifecycle } from "../builtin/namespace-lifecycle.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import type { Plugins } from "../contracts/plugin.ts";
import { connectHandler } from "../proxy/connect.ts";
import { httpProxyHandler } from "../proxy/http-proxy.ts";
import { podLogHandler } from "../proxy/pod-logs.ts";
import type { ProxyTransport } from "../proxy/transport.ts";
import type { Registry } from "../registry/registry.ts";
import { Admission } from "../rest/admission.ts";
import { Deletes } from "../rest/deletes.ts";
import type { World } from "../rest/exchange.ts";
import { FieldManager } from "../rest/field-manager.ts";
import type { ObjectStore } from "../rest/object-store.ts";
import { Reads } from "../rest/reads.ts";
import { ResourceApi } from "../rest/resource-api.ts";
import { type SubresourceHandler, Subresources } from "../rest/subresources.ts";
import { Writes } from "../rest/writes.ts";
import type { Store } from "../storage/store.ts";
import { bindingHandler } from "../subresources/binding.ts";
import { componentStatuses } from "../subresources/component-statuses.ts";
import { evictionHandler } from "../subresources/eviction.ts";
import { scaleHandler } from "../subresources/scale.ts";
import { authorizeCreate } from "./authorizers.ts";
import type { PluginStore } from "./plugin-store.ts";

export interface VerbParts {
  readonly store: Store;
  readonly pluginStore: PluginStore;
  readonly objects: ObjectStore;
  readonly registry: Registry;
  readonly world: World;
  readonly plugins: Plugins;
  readonly authorizer: Authorizer;
  readonly transport: ProxyTransport;
  readonly random: Random;
}

export interface Verbs {
  readonly api: ResourceApi;
  /** Ends every watch, when the server closes. */
  endWatches(): void;
}

export function resourceVerbs(parts: VerbParts): Verbs {
  const { store, objects, registry, world, plugins, authorizer } = parts;
  const admission = new Admission(
    plugins.admission?.length ? plugins.admission : [namespaceLifecycle(parts.pluginStore)],
  );
  const reads = new Reads(store, world, (resource, version, end) => registry.onGone(resource, version, end));
  const fields = new FieldManager(world.clock);
  const writes = new Writes({
    objects,
    admission,
    fields,
    world,
    authorizeCreate: (exchange) => authorizeCreate(authorizer, exchange),
  });
  const deletes = new Deletes(objects, admission, world);
  const handlers = subresourceHandlers(parts, { admission, reads, fields, deletes });
  const subresources = new Subresources({
    reads,
    writes,
    handlers,
    virtual: plugins.virtual ?? {},
    fields,
    admission,
  });
  return {
    api: new ResourceApi(registry, store, { reads, writes, deletes, subresources }),
    endWatches: () => reads.endWatches(),
  };
}

function subresourceHandlers(
  { store, pluginStore, objects, registry, world, transport, random, authorizer }: VerbParts,
  verbs: { admission: Admission; reads: Reads; fields: FieldManager; deletes: Deletes },
): ReadonlyMap<string, SubresourceHandler> {
  const { admission, reads, fields, deletes } = verbs;
  const connect = connectHandler({ store: pluginStore, transport, admission, authorizer });
  const binding = bindingHandler({ objects, admission, world, registry });
  return new Map<string, SubresourceHandler>([
    ["*/scale", scaleHandler({ reads, objects, admission, fields, world })],
    ["/pods/binding", binding],
    ["/bindings", binding],
    ["/componentstatuses", componentStatuses],
    ["/pods/log", podLogHandler(pluginStore, transport)],
    ["/pods/exec", connect],
    ["/pods/attach", connect],
    ["/pods/portforward", connect],
    ["*/proxy", httpProxyHandler({ store: pluginStore, transport, random, admission })],
    ["/pods/eviction", evictionHandler({ deletes, admission, registry, store, world })],
  ]);
}
