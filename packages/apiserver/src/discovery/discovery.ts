/** What the server serves, told in the two forms that clients ask for. */
import { canonicalJson, type JsonObject } from "@keelson/core";
import type { Extensions, ExtensionView } from "../aggregation/aggregator.ts";
import { aggregatedVersion } from "../aggregation/documents.ts";
import { methodNotAllowed, noSuchResource } from "../contracts/status-error.ts";
import { digest } from "../messages/digest.ts";
import { header, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import { type Negotiated, negotiate, type Transform } from "../messages/negotiation.ts";
import { jsonResponse, textResponse } from "../messages/response.ts";
import { type ApiResource, type ApiVersion, apiVersionText } from "../registry/api-resource.ts";
import type { Registry } from "../registry/registry.ts";
import { groupVersions } from "../tables/index.ts";
import { compareVersions } from "./version-order.ts";

interface GroupEntry {
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly VersionEntry[];
}

interface VersionEntry {
  readonly name: string;
  readonly resources: readonly { resource: ApiResource; version: ApiVersion }[];
  /** Of another server. */
  readonly extension?: ExtensionView;
}

/** What the registry held at one generation, and the documents made from it. */
interface Snapshot {
  readonly generation: string;
  readonly groups: GroupEntry[];
  readonly documents: Map<string, JsonObject>;
}

const aggregatedType = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export class Discovery {
  readonly #registry: Registry;
  readonly #address: () => string;
  readonly #extended: Extensions;
  #cached: Snapshot | undefined;

  constructor(registry: Registry, extensions: Extensions, address: () => string) {
    this.#registry = registry;
    this.#extended = extensions;
    this.#address = address;
  }

  /** Answers `/api`, `/apis` and what lies below them; `undefined` when the path is none of these. */
  async handle(request: ServerRequest, path: string): Promise<ServerResponse | undefined> {
    const parts = path.split("/").filter((part) => part !== "");
    const [prefix, first, second] = parts;
    const isOurs = (prefix === "api" && parts.length <= 2) || (prefix === "apis" && parts.length <= 3);
    if (isOurs && request.method !== "GET") throw methodNotAllowed();
    if (prefix === "api") {
      if (parts.length === 1) return this.#root(request, true);
      if (parts.length === 2) return this.#resources(request, "", first as string);
    } else if (prefix === "apis") {
      if (parts.length === 1) return this.#root(request, false);
      if (parts.length === 2) return this.#group(request, first as string);
      if (parts.length === 3) return this.#resources(request, first as string, second as string);
    }
    return undefined;
  }

  async #root(request: ServerRequest, core: boolean): Promise<ServerResponse> {
    const negotiated = negotiate(header(request.headers, "accept"), { allows: isAggregated });
    if (negotiated.transform) return this.#aggregated(request, core, negotiated);
    if (!core)
      return jsonResponse(
        200,
        this.#document("groups", () => this.#groupList()),
        negotiated,
      );
    return jsonResponse(
      200,
      {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: this.#address() }],
      },
      negotiated,
    );
  }

  async #aggregated(request: ServerRequest, core: boolean, negotiated: Negotiated): Promise<ServerResponse> {
    const document = this.#document(core ? "aggregated core" : "aggregated", () => ({
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: this.#groups()
        .filter(({ name }) => (name === "") === core)
        .map(aggregatedGroup),
    }));
    const tag = `"${digest(canonicalJson(document))}"`;
    const headers = {
      "content-type": negotiated.mediaType + aggregatedType,
      etag: tag,
      vary: "Accept",
      "cache-control": "public",
    };
    if (header(request.headers, "if-none-match") === tag) return { status: 304, headers, body: "" };
    const response = await jsonResponse(200, document, { ...negotiated, transform: undefined });
    return { ...response, headers };
  }

  async #group(request: ServerRequest, name: string): Promise<ServerResponse> {
    const group = this.#groups().find((entry) => entry.name === name && name !== "");
    if (!group) return textResponse(404, "404 page not found\n");
    const document = { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) };
    return jsonResponse(200, document, negotiate(header(request.headers, "accept")));
  }

  async #resources(request: ServerRequest, group: string, version: string): Promise<ServerResponse> {
    const entry = this.#groups()
      .find(({ name }) => name === group)
      ?.versions.find(({ name }) => name === version);
    if (!entry) {
      if (this.#registry.isBuiltinGroup(group)) throw noSuchResource();
      return textResponse(404, "404 page not found\n");
    }
    const document = this.#document(`resources ${group}/${version}`, () => resourceList(group, entry));
    return jsonResponse(200, document, negotiate(header(request.headers, "accept")));
  }

  #groupList(): JsonObject {
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: this.#groups()
        .filter(({ name }) => name !== "")
        .map(groupOf),
    };
  }

  /** Documents are kept until something is added or removed. */
  #document(key: string, make: () => JsonObject): JsonObject {
    const { documents } = this.#current();
    let document = documents.get(key);
    if (!document) {
      document = make();
      documents.set(key, document);
    }
    return document;
  }

  #groups(): GroupEntry[] {
    return this.#current().groups;
  }

  #current(): Snapshot {
    const generation = `${this.#registry.generation} ${this.#extended.generation}`;
    if (this.#cached?.generation !== generation)
      this.#cached = { generation, groups: this.#collect(), documents: new Map() };
    return this.#cached;
  }

  #collect(): GroupEntry[] {
    const groups = new Map<string, Map<string, { resource: ApiResource; version: ApiVersion }[]>>();
    const at = (group: string, version: string) => {
      const versions =
        groups.get(group) ?? new Map<string, { resource: ApiResource; version: ApiVersion }[]>();
      groups.set(group, versions);
      const list = versions.get(version) ?? [];
      versions.set(version, list);
      return list;
    };
    for (const { group, version } of groupVersions()) at(group, version);
    const fixed = new Set(groups.keys());
    for (const resource of this.#registry.all())
      for (const version of resource.versions.values())
        at(resource.group, version.name).push({ resource, version });
    const entries = [...groups].map(([name, versions]): GroupEntry => {
      const list = [...versions].map(([version, resources]) => ({
        name: version,
        resources: resources.sort((a, b) => (a.resource.resource < b.resource.resource ? -1 : 1)),
      }));
      if (!fixed.has(name)) list.sort((a, b) => compareVersions(b.name, a.name));
      return { name, versions: list };
    });
    const extended = withExtensions(entries, this.#extended.views());
    const builtin = extended.filter(({ name }) => fixed.has(name));
    const custom = extended.filter(({ name }) => !fixed.has(name));
    return [...builtin, ...custom.sort((a, b) => (a.name < b.name ? -1 : 1))];
  }
}

/** Versions of other servers come behind this server's own of the same group, the most important first. */
function withExtensions(entries: readonly GroupEntry[], views: readonly ExtensionView[]): GroupEntry[] {
  const groups = new Map(entries.map((entry) => [entry.name, entry]));
  const byPriority = (a: ExtensionView, b: ExtensionView) =>
    b.extension.versionPriority - a.extension.versionPriority ||
    compareVersions(b.extension.version, a.extension.version);
  for (const view of [...views].sort(byPriority)) {
    const { group: name, version } = view.extension;
    const versions = groups.get(name)?.versions ?? [];
    const own = versions.filter((each) => each.name !== version);
    groups.set(name, { name, versions: [...own, { name: version, resources: [], extension: view }] });
  }
  return [...groups.values()];
}

function isAggregated({ kind, group, version }: Transform): boolean {
  return kind === "APIGroupDiscoveryList" && group === "apidiscovery.k8s.io" && version === "v2";
}

function groupOf({ name, versions }: GroupEntry): JsonObject {
  const all = versions.map((version) => ({
    groupVersion: apiVersionText({ group: name }, version.name),
    version: version.name,
  }));
  return { name, versions: all, preferredVersion: all[0] as JsonObject };
}

function resourceList(group: string, entry: VersionEntry): JsonObject {
  const groupVersion = apiVersionText({ group }, entry.name);
  return {
    kind: "APIResourceList",
    ...(group !== "" && { apiVersion: "v1" }),
    groupVersion,
    resources: entry.resources.flatMap(({ resource, version }) => [
      {
        name: resource.resource,
        singularName: resource.singular,
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs: [...version.verbs],
        ...(resource.shortNames.length > 0 && { shortNames: [...resource.shortNames] }),
        ...(resource.categories.length > 0 && { categories: [...resource.categories] }),
        ...(version.storageVersionHash && { storageVersionHash: version.storageVersionHash }),
      },
      ...[...version.subresources.values()].map((sub) => ({
        name: `${resource.resource}/${sub.name}`,
        singularName: "",
        namespaced: resource.namespaced,
        ...(sub.foreign && { group: sub.group, version: sub.version }),
        kind: sub.kind,
        verbs: [...sub.verbs],
      })),
    ]),
  };
}

function aggregatedGroup({ name, versions }: GroupEntry): JsonObject {
  return {
    metadata: name === "" ? {} : { name },
    versions: versions.map((version) =>
      version.extension
        ? aggregatedVersion(name, version.name, version.extension.resources)
        : {
            version: version.name,
            resources: version.resources.map(({ resource, version: at }) =>
              aggregatedResource(name, resource, at),
            ),
            freshness: "Current",
          },
    ),
  };
}

function aggregatedResource(group: string, resource: ApiResource, version: ApiVersion): JsonObject {
  return {
    resource: resource.resource,
    responseKind: resource.custom
      ? { group, version: version.name, kind: resource.kind }
      : { group: "", version: "", kind: resource.kind },
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: [...version.verbs],
    ...(resource.shortNames.length > 0 && { shortNames: [...resource.shortNames] }),
    ...(resource.categories.length > 0 && { categories: [...resource.categories] }),
    ...(version.subresources.size > 0 && {
      subresources: [...version.subresources.values()].map((sub) => ({
        subresource: sub.name,
        responseKind:
          resource.custom || sub.foreign
            ? { group: sub.group, version: sub.version, kind: sub.kind }
            : { group: "", version: "", kind: sub.kind },
        verbs: [...sub.verbs],
      })),
    }),
  };
}
