/** `/openapi/v3` and `/openapi/v2`: documents of what is served, made when they are asked for. */
import type { JsonObject } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { Extensions } from "../aggregation/aggregator.ts";
import { mergedOpenApiV2 } from "../aggregation/documents.ts";
import { digest } from "../messages/digest.ts";
import { header, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { textResponse } from "../messages/response.ts";
import { encodeOpenApiV2, openApiV2MediaType } from "../protobuf/index.ts";
import { apiVersionText } from "../registry/api-resource.ts";
import type { Registry } from "../registry/registry.ts";
import { customOpenApiV3, kubernetesVersion, openApiV2, openApiV3, openApiV3Paths } from "../tables/index.ts";
import { type CustomVersion, customKinds } from "./custom-kinds.ts";

/** Clients ask for it with an at sign, which no media type may have; the answer's has a dot. */
const protobufAsked = /proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/;

export class OpenApi {
  readonly #registry: Registry;
  readonly #extended: Extensions;
  /** Built-in documents stay for good. */
  readonly #builtin = new Map<string, string>();
  /** Documents that custom resources are part of, as they were at a generation of the registry. */
  #custom: { generation: string; documents: Map<string, string | Uint8Array> } | undefined;

  constructor(registry: Registry, extensions: Extensions) {
    this.#registry = registry;
    this.#extended = extensions;
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
    const custom = this.#customVersions();
    const names = [...openApiV3Paths(), ...custom.keys()].sort();
    const entries = names.map((name) => {
      const serverRelativeURL = `/openapi/v3/${name}?hash=${hashOf(name, custom.get(name))}`;
      return [name, { serverRelativeURL }] as const;
    });
    return { paths: Object.fromEntries([...entries, ...this.#extensions()].sort(byName)) };
  }

  /** Documents of other servers, which they are asked for under the same path. */
  #extensions(): (readonly [string, JsonObject])[] {
    return this.#extended.views().flatMap(({ extension: { group, version }, openApiV3 }) => {
      const name = `apis/${group}/${version}`;
      const entry = openApiV3?.[name];
      return isObject(entry) ? [[name, entry] as const] : [];
    });
  }

  #v3(request: ServerRequest, info: RequestInfo, name: string): ServerResponse {
    const custom = this.#customVersions().get(name);
    const hash = hashOf(name, custom);
    const asked = info.query.get("hash");
    const body = custom
      ? this.#cached(name, () => JSON.stringify(customOpenApiV3(customKinds(custom, 3))))
      : this.#builtinDocument(name);
    if (body === undefined) return textResponse(404, "404 page not found\n");
    if (asked !== null && asked !== hash)
      return {
        status: 301,
        headers: { location: `/openapi/v3/${name}?hash=${hash}`, "content-type": "text/plain" },
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
    return { status: 200, headers, body };
  }

  #v2(request: ServerRequest): ServerResponse {
    const isProtobuf = protobufAsked.test(header(request.headers, "accept") ?? "");
    const body = this.#cached(isProtobuf ? "v2 protobuf" : "v2", () => {
      const document = mergedOpenApiV2(
        openApiV2(customKinds([...this.#customVersions().values()].flat(), 2)),
        this.#extended
          .views()
          .flatMap(({ extension: { group }, openApiV2: own }) => (own ? [{ group, document: own }] : [])),
      );
      return isProtobuf ? encodeOpenApiV2(document) : JSON.stringify(document);
    });
    const etag = `"${digest(body)}"`;
    const headers = {
      "content-type": isProtobuf ? openApiV2MediaType : "application/json",
      etag,
      vary: "Accept",
    };
    if (header(request.headers, "if-none-match") === etag) return { status: 304, headers, body: "" };
    return { status: 200, headers, body };
  }

  #builtinDocument(name: string): string | undefined {
    const known = this.#builtin.get(name);
    if (known !== undefined) return known;
    const document = openApiV3(name);
    if (document === undefined) return undefined;
    const text = JSON.stringify(document);
    this.#builtin.set(name, text);
    return text;
  }

  #cached(key: string, make: () => string | Uint8Array): string | Uint8Array {
    const generation = `${this.#registry.generation} ${this.#extended.generation}`;
    if (this.#custom?.generation !== generation) this.#custom = { generation, documents: new Map() };
    const known = this.#custom.documents.get(key);
    if (known !== undefined) return known;
    const document = make();
    this.#custom.documents.set(key, document);
    return document;
  }

  /** Custom resources by the name of their document: `apis/group/version`. */
  #customVersions(): Map<string, CustomVersion[]> {
    const documents = new Map<string, CustomVersion[]>();
    for (const resource of this.#registry.all()) {
      if (!resource.custom) continue;
      for (const version of resource.versions.values()) {
        const name = `apis/${apiVersionText(resource, version.name)}`;
        const list = documents.get(name);
        if (list) list.push({ resource, version });
        else documents.set(name, [{ resource, version }]);
      }
    }
    return documents;
  }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Built-in documents change with the release alone; custom ones with their definitions. */
function hashOf(name: string, custom: readonly CustomVersion[] | undefined): string {
  const parts = (custom ?? []).map(({ resource, version }) =>
    JSON.stringify([
      resource.kind,
      version.name,
      resource.type.schema?.(version.name) ?? null,
      [...version.subresources.keys()],
    ]),
  );
  return digest(`${kubernetesVersion}\n${name}\n${parts.join("\n")}`);
}
