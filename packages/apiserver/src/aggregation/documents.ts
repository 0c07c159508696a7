/** What extensions serve, in the forms in which this server tells of it. */
import type { JsonObject } from "@keelson/core";

/** A resource as `/apis/group/version` of an extension lists it. */
export interface ListedResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** One version of a group in the aggregated form, made of the plain one. */
export function aggregatedVersion(
  group: string,
  version: string,
  resources: readonly ListedResource[] | undefined,
): JsonObject {
  if (!resources) return { version, freshness: "Stale" };
  const kindOf = (listed: ListedResource): JsonObject => ({
    group: listed.group || group,
    version: listed.version || version,
    kind: listed.kind,
  });
  const own = resources.filter(({ name }) => !name.includes("/"));
  return {
    version,
    resources: own.map((listed): JsonObject => {
      const parts = resources.filter(({ name }) => name.startsWith(`${listed.name}/`));
      return {
        resource: listed.name,
        responseKind: kindOf(listed),
        scope: listed.namespaced ? "Namespaced" : "Cluster",
        singularResource: listed.singularName ?? "",
        verbs: [...(listed.verbs ?? [])],
        ...(listed.shortNames?.length && { shortNames: [...listed.shortNames] }),
        ...(listed.categories?.length && { categories: [...listed.categories] }),
        ...(parts.length > 0 && {
          subresources: parts.map((part) => ({
            subresource: part.name.slice(listed.name.length + 1),
            responseKind: kindOf(part),
            verbs: [...(part.verbs ?? [])],
          })),
        }),
      };
    }),
    freshness: "Current",
  };
}

/** A document of OpenAPI v2 with the paths and definitions of others; what it has already stays. */
export function mergedOpenApiV2(
  document: JsonObject,
  others: readonly { readonly group: string; readonly document: JsonObject }[],
): JsonObject {
  const paths = { ...(document.paths as JsonObject) };
  const definitions = { ...(document.definitions as JsonObject) };
  for (const { group, document: other } of others) {
    for (const [path, item] of Object.entries((other.paths ?? {}) as JsonObject))
      if (path === `/apis/${group}/` || path.startsWith(`/apis/${group}/`)) paths[path] ??= item;
    for (const [name, definition] of Object.entries((other.definitions ?? {}) as JsonObject))
      definitions[name] ??= definition;
  }
  return { ...document, paths, definitions };
}
