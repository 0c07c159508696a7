// Turns discovery into one entry per group-version: resources, verbs, subresources, storage versions, priorities.
import { createHash } from "node:crypto";
import { asList, asMap, asString, type Json, type JsonMap } from "./json.ts";
import type { Observation } from "./observe.ts";

export interface SubresourceFacts {
  name: string;
  kind: string;
  /** Group-version of the kind when it is not the resource's own. */
  groupVersion?: string;
  verbs: string[];
}

export interface ResourceFacts {
  name: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  /** As discovery shows it; absent when nothing is stored. */
  storageVersionHash?: string;
  /** Group-version that the hash stands for, when it is not the resource's own. */
  storageVersion?: string;
  /** DELETE answers with the object, and not with a Status. */
  deleteReturnsObject?: true;
  subresources?: SubresourceFacts[];
}

export interface GroupVersionFacts {
  group: string;
  version: string;
  groupPriority?: number;
  versionPriority?: number;
  resources: ResourceFacts[];
}

/** Group-versions in the order of the server's aggregated discovery; the first version of a group is preferred. */
export function groupVersionFacts(observation: Observation): GroupVersionFacts[] {
  const order = observation.aggregated
    .flatMap((list) => asList(list.items, "items"))
    .flatMap((item) => {
      const group = String(asMap(asMap(item, "group").metadata, "metadata").name ?? "");
      return asList(asMap(item, group).versions, group).map((version) => ({
        group,
        version: asString(asMap(version, group).version, group),
      }));
    });
  const hashes = storageHashes(observation);
  return order.map(({ group, version }) => {
    const groupVersion = group ? `${group}/${version}` : version;
    const entries = asList(
      asMap(observation.resources.get(groupVersion), groupVersion).resources,
      groupVersion,
    ).map((entry) => asMap(entry, groupVersion));
    const resources = entries
      .filter((entry) => !nameOf(entry).includes("/"))
      .map((entry) => resourceFacts(entry, entries, groupVersion, hashes, observation.swagger));
    const service = observation.apiServices
      .map((item) => asMap(item.spec, "spec"))
      .find((spec) => (spec.group ?? "") === group && spec.version === version);
    const priorities =
      service === undefined
        ? {}
        : {
            groupPriority: Number(service.groupPriorityMinimum),
            versionPriority: Number(service.versionPriority),
          };
    return { group, version, ...priorities, resources };
  });
}

function resourceFacts(
  entry: JsonMap,
  all: JsonMap[],
  groupVersion: string,
  hashes: ReadonlyMap<string, string>,
  swagger: JsonMap,
): ResourceFacts {
  const name = nameOf(entry);
  const hash = entry.storageVersionHash === undefined ? undefined : asString(entry.storageVersionHash, name);
  const stored = hash === undefined ? undefined : hashes.get(hash);
  if (hash !== undefined && stored === undefined)
    throw new Error(`no kind has the storage hash of ${groupVersion} ${name}`);
  const subresources = all
    .filter((other) => nameOf(other).startsWith(`${name}/`))
    .map((other) => ({
      name: nameOf(other).slice(name.length + 1),
      kind: asString(other.kind, name),
      ...(other.version === undefined ? {} : { groupVersion: `${other.group}/${other.version}` }),
      verbs: strings(other.verbs),
    }));
  return {
    name,
    singular: asString(entry.singularName, name),
    kind: asString(entry.kind, name),
    namespaced: entry.namespaced === true,
    verbs: strings(entry.verbs),
    ...(entry.shortNames === undefined ? {} : { shortNames: strings(entry.shortNames) }),
    ...(entry.categories === undefined ? {} : { categories: strings(entry.categories) }),
    ...(hash === undefined ? {} : { storageVersionHash: hash }),
    ...(stored === undefined || stored === groupVersion ? {} : { storageVersion: stored }),
    ...(deleteReturnsObject(swagger, groupVersion, entry) ? { deleteReturnsObject: true } : {}),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

function deleteReturnsObject(swagger: JsonMap, groupVersion: string, entry: JsonMap): boolean {
  const root = groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
  const path = `${root}${entry.namespaced ? "/namespaces/{namespace}" : ""}/${nameOf(entry)}/{name}`;
  const item = asMap(swagger.paths, "paths")[path];
  const operation = item === undefined ? undefined : asMap(item, path).delete;
  if (operation === undefined) return false;
  const answer = asMap(asMap(asMap(operation, path).responses, path)["200"], path);
  return !asString(asMap(answer.schema, path).$ref, path).endsWith(".Status");
}

/** The hash is the first eight bytes of SHA-256 over `group/version/kind` of the stored form. */
function storageHashes(observation: Observation): Map<string, string> {
  const hashes = new Map<string, string>();
  for (const groupVersion of everyGroupVersion(observation)) {
    for (const list of observation.resources.values()) {
      for (const entry of asList(list.resources, groupVersion)) {
        const kind = asString(asMap(entry, groupVersion).kind, groupVersion);
        const slashed = groupVersion.includes("/") ? groupVersion : `/${groupVersion}`;
        hashes.set(
          createHash("sha256").update(`${slashed}/${kind}`).digest().subarray(0, 8).toString("base64"),
          groupVersion,
        );
      }
    }
  }
  return hashes;
}

/** Every group-version the server knows, served or not: those that share DeleteOptions. */
export function everyGroupVersion(observation: Observation): string[] {
  const definitions = asMap(observation.swagger.definitions, "definitions");
  const options = asMap(definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"], "DeleteOptions");
  return asList(options["x-kubernetes-group-version-kind"], "DeleteOptions").map((entry) => {
    const gvk = asMap(entry, "DeleteOptions");
    return gvk.group ? `${gvk.group}/${gvk.version}` : `${gvk.version}`;
  });
}

function nameOf(entry: JsonMap): string {
  return asString(entry.name, "resource");
}

function strings(value: Json | undefined): string[] {
  return asList(value, "list").map((item) => asString(item, "item"));
}
