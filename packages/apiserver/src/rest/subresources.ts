/** Subresources: each name and its handler. */

import type { ApiObject } from "../contracts/object.ts";
import { methodNotAllowed, notFound } from "../contracts/status-error.ts";
import type { VirtualResource } from "../contracts/virtual-resource.ts";
import { header, type ServerResponse } from "../messages/message.ts";
import type { Negotiated } from "../messages/negotiation.ts";
import { bytesResponse, jsonResponse } from "../messages/response.ts";
import type { Subresource } from "../registry/api-resource.ts";
import type { Admission } from "./admission.ts";
import { decodeKind } from "./embedded-kinds.ts";
import { draftFrom, type Exchange, readBody } from "./exchange.ts";
import { type FieldManager, managerFromUserAgent } from "./field-manager.ts";
import { type WriteOptions, writeOptions } from "./options.ts";
import type { Reads } from "./reads.ts";
import { admissionOptions, type Writes } from "./writes.ts";

/** Answers one subresource of one resource. */
export type SubresourceHandler = (exchange: Exchange, negotiated: Negotiated) => Promise<ServerResponse>;

export class Subresources {
  readonly #reads: Reads;
  readonly #writes: Writes;
  /** By `group/resource/subresource`, `*` standing for any resource. */
  readonly #handlers: ReadonlyMap<string, SubresourceHandler>;
  readonly #virtual: Readonly<Record<string, VirtualResource>>;
  readonly #fields: FieldManager;
  readonly #admission: Admission;

  constructor(parts: {
    reads: Reads;
    writes: Writes;
    handlers: ReadonlyMap<string, SubresourceHandler>;
    virtual: Readonly<Record<string, VirtualResource>>;
    fields: FieldManager;
    admission: Admission;
  }) {
    this.#reads = parts.reads;
    this.#writes = parts.writes;
    this.#handlers = parts.handlers;
    this.#virtual = parts.virtual;
    this.#fields = parts.fields;
    this.#admission = parts.admission;
  }

  handle(exchange: Exchange, negotiated: Negotiated): Promise<ServerResponse> {
    const { resource, info } = exchange;
    const key = `${resource.group}/${resource.resource}/${info.subresource}`;
    if (this.#virtual[key]) return this.virtual(exchange, negotiated);
    const handler = this.#handlers.get(key) ?? this.#handlers.get(`*/${info.subresource}`);
    return handler ? handler(exchange, negotiated) : this.#object(exchange, negotiated);
  }

  /** A subresource that is the object itself, seen or written in part: `/status`. */
  async #object(exchange: Exchange, negotiated: Negotiated): Promise<ServerResponse> {
    const answer = async (object: ApiObject) =>
      bytesResponse(200, await this.#reads.encode(exchange, negotiated, object), negotiated);
    switch (exchange.info.verb) {
      case "get":
        return answer(await this.#reads.get(exchange));
      case "update":
        return answer((await this.#writes.replace(exchange)).object);
      case "patch":
        return answer((await this.#writes.patch(exchange)).object);
      default:
        throw methodNotAllowed();
    }
  }

  /** What is answered without being stored. */
  async virtual(exchange: Exchange, negotiated: Negotiated): Promise<ServerResponse> {
    const { resource, info, user, request } = exchange;
    const parts = [resource.group, resource.resource, ...(info.subresource ? [info.subresource] : [])];
    const handler = this.#virtual[parts.join("/")];
    const own = this.#handlers.get(parts.join("/"));
    if (!handler && own) return own(exchange, negotiated);
    if (!handler) throw notFound(resource, info.name);
    const options = writeOptions("CreateOptions", info.query);
    const sub = exchange.version.subresources.get(info.subresource);
    const body = await readBody(exchange, sub?.kind);
    const asked = sub ? decodeKind(sub, body.value) : draftFrom(exchange, body, options.fieldValidation);
    const draft = sub ? await this.#admitted(exchange, sub, asked, options) : asked;
    const { namespace, name } = info;
    const object = await handler.create(draft, {
      user,
      namespace,
      name,
      dryRun: options.dryRun,
      headers: request.headers,
      warn: (text) => exchange.warnings.add(text),
    });
    const owned = sub || newlyMade.has(resource.resource) ? object : this.#owned(exchange, draft, object);
    return jsonResponse(201, owned, negotiated);
  }

  /** What is made of a stored object is admitted as if it were stored itself: tokens. */
  async #admitted(
    exchange: Exchange,
    { group, version, kind }: Subresource,
    asked: ApiObject,
    options: WriteOptions,
  ): Promise<ApiObject> {
    const input = {
      operation: "CREATE" as const,
      dryRun: options.dryRun,
      options: admissionOptions(options, false),
      oldObject: undefined,
      kind: { group, version, kind },
    };
    const object = (await this.#admission.admit(exchange, { ...input, object: asked })) ?? asked;
    await this.#admission.validate(exchange, { ...input, object });
    return object;
  }

  /** Though nothing is stored, the answer says who asked. */
  #owned(exchange: Exchange, asked: ApiObject, answer: ApiObject): ApiObject {
    const { resource, version, info, request } = exchange;
    const userAgent = header(request.headers, "user-agent");
    const manager = info.query.get("fieldManager") || managerFromUserAgent(userAgent);
    const write = { resource, version: version.name, subresource: "", manager };
    const { managedFields } = this.#fields.update(write, undefined, asked).metadata;
    if (managedFields === undefined) return answer;
    return { ...answer, metadata: { ...answer.metadata, managedFields } };
  }
}

/** Reviews whose answer has nothing of the question. */
const newlyMade = new Set(["selfsubjectreviews", "selfsubjectrulesreviews"]);
