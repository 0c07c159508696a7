/** The group-versions the server serves by default, and their resources. */
import { parseApiVersion } from "@keelson/core";
import { servedGroupVersions } from "./generated/resources.ts";
import type { GroupVersionFacts, ResourceFacts, SubresourceFacts } from "./notation/facts.ts";
import type { GroupVersion, Resource, Subresource } from "./notation/schema.ts";

const ordinaryVerbs = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
] as const;
const none: readonly string[] = Object.freeze([]);

let built: readonly GroupVersion[] | undefined;
let byPath: ReadonlyMap<string, Resource> | undefined;

/** In the order of discovery; the first version of each group is the preferred one. */
export function groupVersions(): readonly GroupVersion[] {
  if (built !== undefined) return built;
  const groups = new Set<string>();
  built = servedGroupVersions.map((facts) => {
    const preferred = !groups.has(facts.group);
    groups.add(facts.group);
    return Object.freeze({
      group: facts.group,
      version: facts.version,
      groupVersion: groupVersionOf(facts),
      preferred,
      groupPriority: facts.groupPriority,
      versionPriority: facts.versionPriority,
      resources: facts.resources.map((entry) => toResource(entry, facts)),
    });
  });
  return built;
}

/** All resources, in the order of discovery. */
export function resources(): readonly Resource[] {
  return groupVersions().flatMap((entry) => entry.resources);
}

/** The resource at that place in the URL; `name` is the plural. */
export function resource(group: string, version: string, name: string): Resource | undefined {
  byPath ??= new Map(resources().map((entry) => [`${entry.groupVersion}/${entry.name}`, entry]));
  return byPath.get(`${groupVersionOf({ group, version })}/${name}`);
}

function toResource(facts: ResourceFacts, of: GroupVersionFacts): Resource {
  return Object.freeze({
    group: of.group,
    version: of.version,
    groupVersion: groupVersionOf(of),
    name: facts.name,
    singular: facts.singular,
    kind: facts.kind,
    namespaced: facts.namespaced,
    verbs: facts.verbs ?? ordinaryVerbs,
    shortNames: facts.shortNames ?? none,
    categories: facts.categories ?? none,
    subresources: (facts.subresources ?? []).map((entry) => toSubresource(entry, facts.kind, of)),
    storageVersionHash: facts.storageVersionHash,
    storageVersion: facts.storageVersion ?? groupVersionOf(of),
    definition: `${of.package}.${facts.kind}`,
    deleteReturnsObject: facts.deleteReturnsObject ?? false,
  });
}

function toSubresource(facts: SubresourceFacts, kind: string, of: GroupVersionFacts): Subresource {
  const { group, version } = facts.groupVersion === undefined ? of : parseApiVersion(facts.groupVersion);
  return Object.freeze({
    name: facts.name,
    kind: facts.kind ?? kind,
    group,
    version,
    foreign: facts.groupVersion !== undefined,
    verbs: facts.verbs,
  });
}

function groupVersionOf({ group, version }: { group: string; version: string }): string {
  return group ? `${group}/${version}` : version;
}
