/** `/openapi/v3` and `/openapi/v2`: documents of what is served, made when they are asked for. */
import type { JsonObject } from "@keelson/core";
import type { JsonSchema } from "../crd/schema.ts";
import { header, type ServerRequest, type ServerResponse } from "../http/message.ts";
import type { RequestInfo } from "../http/request-info.ts";
import { textResponse } from "../http/response.ts";
import { kubernetesVersion } from "../http/system-paths.ts";
import { type ApiResource, type ApiVersion, apiVersionText } from "../registry/api-resource.ts";
import type { Registry } from "../registry/registry.ts";
import { definitionName } from "../tables/index.ts";
import { digest } from "../world.ts";
import { encodeDocument } from "./document-protobuf.ts";
import { type Dialect, resourcePaths } from "./paths.ts";
import { collect, collectCustom, customDefinitionName, refTo, type Version } from "./schemas.ts";

/** Clients ask for it with an at sign, which no media type may have; the answer's has a dot. */
const protobufAsked = /proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/;
const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

interface Entry {
  readonly resource: ApiResource;
  readonly version: ApiVersion;
}

export class OpenApi {
  readonly #registry: Registry;
  #cache: { generation: number; documents: Map<string, JsonObject> } | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** `undefined` when the path is no document. */
  async handle(request: ServerRequest, info: RequestInfo): Promise<ServerResponse | undefined> {
    const { path } = info;
    if (path === "/openapi/v3" || path === "/openapi/v3/") {
      // The real server sends its index as text, and so it is recorded.
      const headers = { "content-type": "text/plain; charset=utf-8" };
      return { status: 200, headers, body: JSON.stringify(this.#index()) };
    }
    if (path.startsWith("/openapi/v3/")) return this.#v3(request, info, path.slice("/openapi/v3/".length));
    if (path === "/openapi/v2") return this.#v2(request);
    return undefined;
  }

  #index(): JsonObject {
    const paths: JsonObject = {};
    for (const [key, entries] of this.#groups())
      paths[key] = { serverRelativeURL: `/openapi/v3/${key}?hash=${hashOf(entries)}` };
    return { paths };
  }

  async #v3(request: ServerRequest, info: RequestInfo, key: string): Promise<ServerResponse> {
    const entries = this.#groups().get(key);
    if (!entries) return textResponse(404, "404 page not found\n");
    const hash = hashOf(entries);
    const asked = info.query.get("hash");
    if (asked !== null && asked !== hash)
      return {
        status: 301,
        headers: { location: `/openapi/v3/${key}?hash=${hash}`, "content-type": "text/plain" },
        body: "",
      };
    const headers = {
      "content-type": "application/json",
      etag: `"${hash}"`,
      ...(asked !== null && {
        "cache-control": "public, immutable",
        expires: "Thu, 31 Dec 2099 23:59:59 GMT",
      }),
    };
    if (header(request.headers, "if-none-match") === `"${hash}"`) return { status: 304, headers, body: "" };
    const document = this.#cached(key, () => documentV3(entries));
    return { status: 200, headers, body: JSON.stringify(document) };
  }

  async #v2(request: ServerRequest): Promise<ServerResponse> {
    const accept = header(request.headers, "accept") ?? "";
    const document = this.#cached("v2", () => documentV2([...this.#groups().values()].flat()));
    const protobuf = protobufAsked.test(accept);
    const body = protobuf ? encodeDocument(document) : JSON.stringify(document);
    const etag = `"${digest(body)}"`;
    const headers = { "content-type": protobuf ? protobufType : "application/json", etag, vary: "Accept" };
    if (header(request.headers, "if-none-match") === etag) return { status: 304, headers, body: "" };
    return { status: 200, headers, body };
  }

  #cached(key: string, make: () => JsonObject): JsonObject {
    const { generation } = this.#registry;
    if (this.#cache?.generation !== generation) this.#cache = { generation, documents: new Map() };
    const known = this.#cache.documents.get(key);
    if (known) return known;
    const document = make();
    this.#cache.documents.set(key, document);
    return document;
  }

  /** Resources by `api/v1` or `apis/group/version`. */
  #groups(): Map<string, Entry[]> {
    const groups = new Map<string, Entry[]>();
    for (const resource of this.#registry.all())
      for (const version of resource.versions.values()) {
        const text = apiVersionText(resource, version.name);
        const key = resource.group ? `apis/${text}` : `api/${text}`;
        const list = groups.get(key) ?? [];
        list.push({ resource, version });
        groups.set(key, list);
      }
    return groups;
  }
}

/** Built-in documents change with the release alone; custom ones with their definitions. */
function hashOf(entries: readonly Entry[]): string {
  const parts = entries.map(({ resource, version }) =>
    resource.custom
      ? JSON.stringify([
          resource.kind,
          version.name,
          resource.type.schema?.(version.name) ?? null,
          [...version.subresources.keys()],
        ])
      : `${resource.resource}/${version.name}`,
  );
  return digest(`${kubernetesVersion}\n${parts.join("\n")}`);
}

const info: JsonObject = { title: "Kubernetes", version: kubernetesVersion };

function documentV3(entries: readonly Entry[]): JsonObject {
  const { paths, definitions } = contents(entries, 3);
  return {
    openapi: "3.0.0",
    info,
    paths,
    components: {
      schemas: definitions,
      securitySchemes: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    },
  };
}

function documentV2(entries: readonly Entry[]): JsonObject {
  const { paths, definitions } = contents(entries, 2);
  return {
    swagger: "2.0",
    info,
    paths,
    definitions,
    securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    security: [{ BearerToken: [] }],
  };
}

function contents(entries: readonly Entry[], version: Version) {
  const definitions: Record<string, JsonObject> = {};
  const paths: Record<string, JsonObject> = {};
  const dialect = dialectOf(version, definitions);
  for (const { resource, version: at } of entries) {
    const root = `/${resource.group ? "apis" : "api"}/${apiVersionText(resource, at.name)}/`;
    if (!resource.custom) paths[root] ??= discoveryPath(dialect);
    if (resource.custom)
      collectCustom(
        {
          group: resource.group,
          version: at.name,
          kind: resource.kind,
          listKind: resource.listKind,
          schema: resource.type.schema?.(at.name) as JsonSchema | undefined,
        },
        version,
        definitions,
      );
    const definitionOf = (group: string, name: string, kind: string): string =>
      definitionName({ group, version: name, kind }) ??
      (resource.custom && group === resource.group
        ? customDefinitionName(group, name, kind)
        : "io.k8s.apimachinery.pkg.apis.meta.v1.Status");
    Object.assign(paths, resourcePaths({ resource, version: at, definitionOf }, dialect));
  }
  return { paths: sorted(paths), definitions: sorted(definitions) };
}

function discoveryPath(dialect: Dialect): JsonObject {
  const list = dialect.ref("io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList");
  return {
    get: {
      operationId: "getAPIResources",
      responses: {
        "200": dialect.response(list, ["application/json"]),
        "401": { description: "Unauthorized" },
      },
    },
  };
}

function sorted(object: Record<string, JsonObject>): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function dialectOf(version: Version, definitions: Record<string, JsonObject>): Dialect {
  const ref = (name: string) => {
    if (!(name in definitions)) collect(name, version, definitions);
    return refTo(name, version);
  };
  if (version === 3)
    return {
      ref,
      parameter: (name, where, type) => ({
        name,
        in: where,
        ...(where === "path" && { required: true }),
        schema: { type, uniqueItems: true },
      }),
      body: (schema, mediaTypes) => ({
        content: Object.fromEntries(mediaTypes.map((type) => [type, { schema }])),
        required: true,
      }),
      response: (schema, mediaTypes) => ({
        description: "OK",
        content: Object.fromEntries(mediaTypes.map((type) => [type, { schema }])),
      }),
    };
  return {
    ref,
    parameter: (name, where, type) => ({
      name,
      in: where,
      ...(where === "path" && { required: true }),
      type,
      uniqueItems: true,
    }),
    body: (schema) => ({ name: "body", in: "body", required: true, schema }),
    response: (schema) => ({ description: "OK", schema }),
  };
}
