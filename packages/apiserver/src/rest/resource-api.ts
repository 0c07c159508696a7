/** Requests to resources: finds the resource, checks that the path takes the method, runs the verb. */

import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import {
  badRequest,
  failure,
  methodNotAllowed,
  methodNotSupported,
  noSuchResource,
  notFound,
} from "../contracts/status-error.ts";
import { header, type Pieces, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import { isMetaTransform, jsonOnly, type Negotiated, negotiate } from "../messages/negotiation.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { bytesResponse, jsonResponse, lineResponse, textResponse } from "../messages/response.ts";
import type { Registry } from "../registry/registry.ts";
import type { Store } from "../storage/store.ts";
import type { Deletes } from "./deletes.ts";
import type { Exchange } from "./exchange.ts";
import type { Reads } from "./reads.ts";
import type { Subresources } from "./subresources.ts";
import type { Writes } from "./writes.ts";

/** Subresources whose answers are somebody else's, in whatever form they come. */
const passedOn = new Set(["log", "exec", "attach", "portforward", "proxy"]);

export interface Verbs {
  readonly reads: Reads;
  readonly writes: Writes;
  readonly deletes: Deletes;
  readonly subresources: Subresources;
}

const reading = new Set(["get", "list", "watch"]);

function mayBeLost() {
  return failure({
    code: 500,
    reason: "InternalError",
    message: "storage failed during the request, and the write may not have been kept",
  });
}

export class ResourceApi {
  readonly #registry: Registry;
  readonly #store: Store;
  readonly #verbs: Verbs;

  constructor(registry: Registry, store: Store, verbs: Verbs) {
    this.#registry = registry;
    this.#store = store;
    this.#verbs = verbs;
  }

  async handle(
    request: ServerRequest,
    info: RequestInfo,
    user: UserInfo,
    warnings: Set<string>,
  ): Promise<ServerResponse> {
    const found = this.#registry.find(info.group, info.version, info.resource);
    if (!found) return this.#unknown(info);
    const { resource, version } = found;
    const exchange: Exchange = { request, info, user, resource, version, warnings };
    // A path that a custom resource's scope rules out belongs to no API.
    if (resource.custom && resource.namespaced !== info.namespaced && !isCollection(info))
      return textResponse(404, "404 page not found\n");
    checkPath(exchange);
    if (version.deprecation) warnings.add(version.deprecation);
    const negotiated = passedOn.has(info.subresource)
      ? jsonOnly
      : negotiate(header(request.headers, "accept"), {
          allows: (transform) =>
            isMetaTransform(transform) && (transform.kind !== "Table" || hasTable(exchange)),
          protobuf: resource.custom ? "metadata" : "objects",
          stream: info.verb === "watch",
          routed: !resource.custom,
          query: info.query,
          userAgent: header(request.headers, "user-agent"),
          user: user.name,
        });
    const { losses } = this.#store;
    const response = info.subresource
      ? await this.#verbs.subresources.handle(exchange, negotiated)
      : await this.#run(exchange, negotiated);
    const settled = this.#store.settled();
    // Nothing is answered that a power loss could take back.
    if (settled) await settled;
    // A conversion may take its time after the commit, and meanwhile the disk refused it.
    if (this.#store.losses !== losses && !reading.has(info.verb)) throw mayBeLost();
    return response;
  }

  async #run(exchange: Exchange, negotiated: Negotiated): Promise<ServerResponse> {
    const { reads, writes, deletes, subresources } = this.#verbs;
    const answer = (status: number, object: ApiObject) => {
      const line = reads.line(exchange, negotiated, object);
      if (line !== undefined) return lineResponse(status, line);
      const bytes = reads.encode(exchange, negotiated, object);
      const whole = (pieces: Pieces) =>
        bytesResponse(
          status,
          negotiated.mediaType === "application/json" ? [...pieces, newline] : pieces,
          negotiated,
        );
      return bytes instanceof Promise ? bytes.then(whole) : whole(bytes);
    };
    if (!exchange.resource.table) return subresources.virtual(exchange, negotiated);
    switch (exchange.info.verb) {
      case "get":
        return answer(200, await reads.get(exchange));
      case "list":
        return bytesResponse(200, await reads.list(exchange, negotiated), negotiated);
      case "watch":
        return reads.watch(exchange, negotiated);
      case "create":
        return answer(201, await writes.create(exchange));
      case "update": {
        const { object, created } = await writes.replace(exchange);
        return answer(created ? 201 : 200, object);
      }
      case "patch": {
        const { object, created } = await writes.patch(exchange);
        return answer(created ? 201 : 200, object);
      }
      case "delete": {
        const result = await deletes.delete(exchange);
        return result.object ? answer(200, result.object) : jsonResponse(200, result.status, negotiated);
      }
      case "deletecollection": {
        const { items, metadata } = await deletes.deleteCollection(exchange, reads);
        return bytesResponse(200, await reads.encodeList(exchange, negotiated, items, metadata), negotiated);
      }
      default:
        throw methodNotAllowed();
    }
  }

  /** A group that is served answers with a Status; anything else is no API at all. */
  #unknown(info: RequestInfo): ServerResponse {
    if (this.#registry.isBuiltinGroup(info.group)) throw noSuchResource();
    return textResponse(404, "404 page not found\n");
  }
}

/** Answers that are made for one question are no rows of a table. */
function hasTable({ resource, info }: Exchange): boolean {
  if (info.subresource) return !untabled.has(info.subresource);
  return resource.table !== undefined || resource.resource === "componentstatuses";
}

const untabled = new Set(["binding", "eviction", "token"]);

/** A path that lists across namespaces. */
function isCollection({ namespaced, verb }: RequestInfo): boolean {
  return !namespaced && (verb === "list" || verb === "watch");
}

/** Throws 404 or 405 for a path or method that the resource does not have. */
function checkPath({ info, request, resource, version }: Exchange): void {
  const { verb, subresource } = info;
  const connects = subresource === "proxy" && connectMethods.has(request.method);
  if (request.method === "HEAD" && !resource.custom && !connects) throw methodNotAllowed();
  if (info.verbInPath && request.method !== "GET") throw methodNotAllowed();
  if (verb === "get" && /^(1|t|true)$/i.test(info.query.get("export") ?? ""))
    throw badRequest("the export parameter, deprecated since v1.14, is no longer supported");
  const isItem = info.name !== "" && verb !== "list" && verb !== "watch" && verb !== "deletecollection";
  if (!resource.namespaced && info.namespaced) throw noSuchResource();
  if (resource.namespaced && !info.namespaced && isItem) throw noSuchResource();
  if (subresource) {
    const sub = version.subresources.get(subresource);
    if (!sub) throw resource.custom ? notFound(resource, info.name) : noSuchResource();
    if (info.rest !== "" && subresource !== "proxy" && !resource.custom) throw noSuchResource();
    if (!sub.verbs.includes(verb) && !connects)
      throw resource.custom ? methodNotSupported(resource, verb) : methodNotAllowed();
    return;
  }
  if (resource.namespaced && !info.namespaced && verb !== "list" && verb !== "watch")
    throw methodNotAllowed();
  if (resource.custom) {
    if ((verb === "update" || verb === "patch") && info.name === "")
      throw badRequest("name must be provided");
    if (!version.verbs.includes(verb)) throw methodNotSupported(resource, "");
    return;
  }
  if (!resource.table && info.name !== "" && !version.verbs.includes("get")) throw noSuchResource();
  if (verb === "create" && info.name !== "") throw methodNotAllowed();
  if ((verb === "update" || verb === "patch") && info.name === "") throw methodNotAllowed();
  if (!version.verbs.includes(verb)) throw methodNotAllowed();
}

/** Methods that a proxy takes and no verb stands for. */
const connectMethods = new Set(["HEAD", "OPTIONS"]);

const newline = Buffer.from("\n");
