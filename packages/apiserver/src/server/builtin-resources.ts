/** The built-in resources, from the tables, with the plug-ins' strategies. */
import { parseApiVersion } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import { builtinFacts } from "../builtin/facts.ts";
import { namespaceLifeCycle } from "../builtin/namespace-deletion.ts";
import { builtinType } from "../builtin/object-type.ts";
import { builtinStrategy } from "../builtin/strategies.ts";
import type { Plugins } from "../contracts/plugin.ts";
import type { Printer } from "../contracts/printer.ts";
import type { Strategy } from "../contracts/strategy.ts";
import { definitionLifeCycle, definitionStrategy } from "../crd/definition-strategy.ts";
import type { ApiResource, ApiVersion, Subresource } from "../registry/api-resource.ts";
import type { Store } from "../storage/store.ts";
import { groupVersions, type Resource } from "../tables/index.ts";

const deprecations: Readonly<Record<string, string>> = lookupTable({
  "io.k8s.api.core.v1.ComponentStatus": "v1 ComponentStatus is deprecated in v1.19+",
  "io.k8s.api.core.v1.Endpoints":
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
});

/** All resources with all their served versions, in the order of discovery. */
export function builtinResources(store: Store, hooks: Plugins): ApiResource[] {
  const byName = new Map<string, Resource[]>();
  for (const { resources } of groupVersions())
    for (const entry of resources) {
      const key = `${entry.group}/${entry.name}`;
      const known = byName.get(key);
      if (known) known.push(entry);
      else byName.set(key, [entry]);
    }
  return [...byName.values()].map((entries) => builtinResource(entries, store, hooks));
}

function builtinResource(entries: readonly Resource[], store: Store, hooks: Plugins): ApiResource {
  const first = entries[0] as Resource;
  const { group, name, kind } = first;
  const facts = builtinFacts(group, name);
  const own = group === "apiextensions.k8s.io" ? definitionStrategy : builtinStrategy(group, name);
  const plugged = hooks.strategies?.(group, name);
  const strategy: Strategy = {
    ...facts,
    ...own,
    ...plugged,
    subresources: { ...own?.subresources, ...plugged?.subresources },
  };
  const served = new Set(entries.map((entry) => entry.groupVersion));
  // Core events are shown as events.k8s.io too; other unserved storage versions are details of etcd.
  const shared = group === "events.k8s.io";
  const storageVersion =
    shared || served.has(first.storageVersion) ? first.storageVersion : first.groupVersion;
  const { group: storedGroup } = parseApiVersion(storageVersion);
  const stored = first.storageVersionHash !== undefined;
  return {
    group,
    resource: name,
    singular: first.singular,
    kind,
    listKind: `${kind}List`,
    namespaced: first.namespaced,
    shortNames: first.shortNames,
    categories: first.categories,
    versions: new Map(entries.map((entry) => [entry.version, toVersion(entry, hooks)])),
    storageVersion,
    table: stored ? store.table(storedGroup ? `${storedGroup}/${name}` : name) : undefined,
    custom: false,
    returnsDeleted: facts.returnsDeleted,
    ungoverned: facts.ungoverned,
    metadataChecks: facts.metadataChecks,
    strategy,
    ...lifeCycleOf(group, name),
    type: builtinType({
      resource: group ? `${name}.${group}` : name,
      group,
      kind,
      definitions: new Map(entries.map((entry) => [entry.version, entry.definition])),
      apiVersions: new Map(entries.map((entry) => [entry.version, entry.groupVersion])),
      storageApiVersion: storageVersion,
      strategy,
    }),
  };
}

function lifeCycleOf(group: string, name: string): Pick<ApiResource, "lifeCycle"> {
  if (group === "" && name === "namespaces") return { lifeCycle: namespaceLifeCycle };
  if (group === "apiextensions.k8s.io") return { lifeCycle: definitionLifeCycle };
  return {};
}

function toVersion(entry: Resource, hooks: Plugins): ApiVersion {
  let printer: Printer | undefined;
  return {
    name: entry.version,
    verbs: entry.verbs,
    subresources: new Map(entry.subresources.map((sub): [string, Subresource] => [sub.name, sub])),
    storageVersionHash: entry.storageVersionHash,
    ...(deprecations[entry.definition] && { deprecation: deprecations[entry.definition] }),
    printer: () => {
      printer ??= hooks.printers?.(entry.group, entry.kind);
      return printer;
    },
  };
}
