/** Get, list and watch, in the form the client asked for. */
import type { JsonObject } from "@keelson/core";
import type { Form } from "../codec/form.ts";
import { encodeEvent, formOf } from "../codec/forms.ts";
import { freshLine } from "../codec/json-form.ts";
import type { ApiObject } from "../contracts/object.ts";
import { notFound } from "../contracts/status-error.ts";
import type { BodyStream, Pieces, ServerResponse } from "../messages/message.ts";
import type { Negotiated } from "../messages/negotiation.ts";
import { streamResponse } from "../messages/response.ts";
import { Turns } from "../messages/turns.ts";
import { type ApiResource, apiVersionText, keyFor } from "../registry/api-resource.ts";
import type { Store } from "../storage/store.ts";
import { type Exchange, namespaceOf, type World } from "./exchange.ts";
import { type ListResult, listObjects, tooLarge } from "./list.ts";
import { parseListOptions, parseRevisionOrFail } from "./list-options.ts";
import { tableOf as storageOf } from "./object-store.ts";
import { parseSelection } from "./selection.ts";
import {
  parseIncludeObject,
  partialMetadata,
  partialMetadataList,
  plainPrinter,
  refuseTransform,
  tableOf,
} from "./table-output.ts";
import { watchObjects } from "./watch.ts";

/** Ends watches of a resource or version that is no longer served. */
export type WatchEnder = (resource: ApiResource, version: string, end: () => void) => () => void;

export class Reads {
  readonly #store: Store;
  readonly #world: World;
  readonly #onGone: WatchEnder;
  /** Ends of the watches that are open. */
  readonly #ends = new Set<() => void>();

  constructor(store: Store, world: World, onGone: WatchEnder) {
    this.#store = store;
    this.#world = world;
    this.#onGone = onGone;
  }

  /** The stored object in the request's version. */
  async get(exchange: Exchange): Promise<ApiObject> {
    const { resource, info, version } = exchange;
    const requested = parseRevisionOrFail(info.query.get("resourceVersion") ?? "") ?? 0;
    if (requested > this.#store.revision) throw tooLarge(requested, this.#store.revision);
    const object = storageOf(resource).get(keyFor(resource, namespaceOf(exchange), info.name));
    if (!object) throw notFound(resource, info.name);
    const shown = resource.type.convert(object, version.name);
    const settled = this.#store.settled();
    if (settled) await settled;
    return shown;
  }

  async list(exchange: Exchange, negotiated: Negotiated): Promise<Pieces> {
    const { resource, version, info } = exchange;
    const options = parseListOptions(info.query, false);
    const selection = parseSelection(resource, version.name, info.query, info.name);
    const show = (object: ApiObject) => resource.type.convert(object, version.name);
    const listed = listObjects(
      this.#store,
      storageOf(resource),
      prefixOf(exchange),
      selection,
      options,
      show,
    );
    // Of what was read: it must be durable before it is shown.
    const settled = this.#store.settled();
    const result = listed instanceof Promise ? await listed : listed;
    if (settled) await settled;
    const items: ApiObject[] = [];
    const turns = new Turns(this.#world.clock);
    for (const item of result.items) {
      const shown = show(item);
      items.push(shown instanceof Promise ? await shown : shown);
      if (turns.due()) await turns.rest();
    }
    return this.encodeList(exchange, negotiated, items, result.metadata);
  }

  async encodeList(
    exchange: Exchange,
    negotiated: Negotiated,
    items: readonly ApiObject[],
    metadata: JsonObject,
  ): Promise<Pieces> {
    const form = await formOf(negotiated.mediaType);
    const { transform } = negotiated;
    if (!transform) {
      const turns = new Turns(this.#world.clock);
      return form.list(exchange.resource, exchange.version.name, metadata, items, turns);
    }
    if (form.name !== "json") return form.value(this.#transformList(exchange, negotiated, items, metadata));
    return this.#transformedPieces(exchange, negotiated, items, metadata);
  }

  /** A list with its last field, which are its items, made one by one. */
  async #transformedPieces(
    exchange: Exchange,
    negotiated: Negotiated,
    items: readonly ApiObject[],
    metadata: JsonObject,
  ): Promise<Pieces> {
    const empty = JSON.stringify(this.#transformList(exchange, negotiated, [], metadata));
    const field = negotiated.transform?.kind === "Table" ? "rows" : "items";
    const pieces: Buffer[] = [Buffer.from(empty.slice(0, -"]}".length))];
    const turns = new Turns(this.#world.clock);
    for (const item of items) {
      const [one] = this.#transformList(exchange, negotiated, [item], {})[field] as JsonObject[];
      pieces.push(Buffer.from(`${pieces.length > 1 ? "," : ""}${JSON.stringify(one)}`));
      if (turns.due()) await turns.rest();
    }
    pieces.push(Buffer.from("]}"));
    return pieces;
  }

  /** The objects of a list, for deletecollection. */
  select(exchange: Exchange): ListResult | Promise<ListResult> {
    const { resource, version, info } = exchange;
    const options = parseListOptions(info.query, false);
    const selection = parseSelection(resource, version.name, info.query);
    const show = (object: ApiObject) => resource.type.convert(object, version.name);
    return listObjects(this.#store, storageOf(resource), prefixOf(exchange), selection, options, show);
  }

  async watch(exchange: Exchange, negotiated: Negotiated): Promise<ServerResponse> {
    const form = await formOf(negotiated.mediaType);
    return streamResponse(this.#watch(exchange, negotiated, form), form.streamType);
  }

  #watch(exchange: Exchange, negotiated: Negotiated, form: Form): BodyStream {
    const { resource, version, info } = exchange;
    const options = parseListOptions(info.query, true);
    const selection = parseSelection(resource, version.name, info.query, info.name);
    const { transform } = negotiated;
    let headers = true;
    return watchObjects({
      store: this.#store,
      table: storageOf(resource),
      prefix: prefixOf(exchange),
      selection,
      show: (object) => resource.type.convert(object, version.name),
      options,
      form,
      clock: this.#world.clock,
      random: this.#world.random,
      onGone: (end) => {
        const forget = this.#onGone(resource, version.name, end);
        this.#ends.add(end);
        return () => {
          this.#ends.delete(end);
          forget();
        };
      },
      bookmark: (metadata) => {
        const empty = { ...emptyObject(resource, version.name), metadata } as ApiObject;
        return transform ? this.#transformOne(exchange, negotiated, empty, false) : empty;
      },
      encode: (event, type, object) => {
        const show = (shown: ApiObject) => {
          if (!transform)
            return event
              ? encodeEvent(form, event, type, resource, version.name, shown)
              : form.frame(type, form.object(resource, version.name, shown));
          const body = this.#transformOne(exchange, negotiated, shown, headers);
          headers = false;
          return form.frame(type, form.value(body));
        };
        const converted = resource.type.convert(object, version.name);
        return converted instanceof Promise ? converted.then(show) : show(converted);
      },
    });
  }

  /** Ends every watch, as a server does that goes away. */
  endWatches(): void {
    for (const end of [...this.#ends]) end();
  }

  /** One object as a line of JSON, if that is how it is wanted and it is at hand. */
  line(
    { resource, version }: Exchange,
    { mediaType, transform, pretty }: Negotiated,
    object: ApiObject,
  ): string | undefined {
    if (mediaType !== "application/json" || transform || pretty) return undefined;
    return freshLine(resource, version.name, object);
  }

  /** One object as bytes. */
  encode(exchange: Exchange, negotiated: Negotiated, object: ApiObject): Pieces | Promise<Pieces> {
    const form = formOf(negotiated.mediaType);
    if (form instanceof Promise)
      return form.then((loaded) => this.#encode(exchange, negotiated, object, loaded));
    return this.#encode(exchange, negotiated, object, form);
  }

  #encode(exchange: Exchange, negotiated: Negotiated, object: ApiObject, form: Form): Pieces {
    if (!negotiated.transform) return form.object(exchange.resource, exchange.version.name, object);
    return form.value(this.#transformOne(exchange, negotiated, object, true));
  }

  #transformOne(exchange: Exchange, negotiated: Negotiated, object: ApiObject, headers: boolean): JsonObject {
    const { transform } = negotiated;
    switch (transform?.kind) {
      case "PartialObjectMetadata":
        return partialMetadata(object, transform);
      case "Table": {
        const { resourceVersion } = object.metadata;
        const metadata: JsonObject = resourceVersion ? { resourceVersion } : {};
        return this.#table(exchange, negotiated, [object], metadata, headers);
      }
      default:
        return refuseTransform();
    }
  }

  #transformList(
    exchange: Exchange,
    negotiated: Negotiated,
    items: readonly ApiObject[],
    metadata: JsonObject,
  ): JsonObject {
    const { transform } = negotiated;
    switch (transform?.kind) {
      case "PartialObjectMetadataList":
        return partialMetadataList(items, metadata, transform);
      case "Table":
        return this.#table(exchange, negotiated, items, metadata, true);
      default:
        return refuseTransform();
    }
  }

  #table(
    exchange: Exchange,
    { transform }: Negotiated,
    items: readonly ApiObject[],
    metadata: JsonObject,
    headers: boolean,
  ): JsonObject {
    const { info, version, resource } = exchange;
    return tableOf(version.printer() ?? plainPrinter, items, metadata, {
      transform: transform as NonNullable<typeof transform>,
      include: parseIncludeObject(info.query),
      nowMs: this.#world.clock.now(),
      headers,
      whole: (object) => ({
        ...object,
        kind: resource.kind,
        apiVersion: apiVersionText(resource, version.name),
      }),
    });
  }
}

/** The keys a collection's path covers. */
function prefixOf({ resource, info }: Exchange): string {
  return resource.namespaced && info.namespace ? `${info.namespace}/` : "";
}

/** An object of which nothing is known, as the server's own types print one. */
function emptyObject(resource: ApiResource, version: string): JsonObject {
  if (resource.custom) return { apiVersion: apiVersionText(resource, version), kind: resource.kind };
  const empty = resource.type.decode({}, version, []);
  if (resource.group !== "apps" || !empty.spec) return empty;
  const spec: JsonObject = { ...(empty.spec as JsonObject), selector: null };
  if (resource.type.scale?.(version)) spec.replicas = 0;
  return { ...empty, spec };
}
