/** Delete and deletecollection. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { decodeBody } from "../codec/body.ts";
import type { ApiObject } from "../contracts/object.ts";
import { StatusError } from "../contracts/status-error.ts";
import { header } from "../messages/message.ts";
import type { DeleteOptions } from "../registry/deletion.ts";
import type { Admission } from "./admission.ts";
import { type Exchange, strategyContext, type World } from "./exchange.ts";
import type { ObjectStore } from "./object-store.ts";
import { deleteOptions } from "./options.ts";
import type { Reads } from "./reads.ts";

export type DeleteResult =
  | { readonly status: JsonObject; readonly object?: undefined }
  | { readonly status?: undefined; readonly object: ApiObject };

export class Deletes {
  readonly #objects: ObjectStore;
  readonly #admission: Admission;
  readonly #world: World;

  constructor(objects: ObjectStore, admission: Admission, world: World) {
    this.#objects = objects;
    this.#admission = admission;
    this.#world = world;
  }

  async delete(exchange: Exchange): Promise<DeleteResult> {
    const { resource, version, info } = exchange;
    const options = await readDeleteOptions(exchange);
    warnOfOrphans(exchange, options);
    const { object, gone } = await this.remove(exchange, info.name, options);
    if (gone && !resource.returnsDeleted) return { status: successOf(exchange, object) };
    return { object: await resource.type.convert(object, version.name) };
  }

  /** Deletes what the query selects, one by one in key order; answers with the list as it was. */
  async deleteCollection(
    exchange: Exchange,
    reads: Reads,
  ): Promise<{ items: ApiObject[]; metadata: JsonObject }> {
    const { resource, version } = exchange;
    const options = await readDeleteOptions(exchange);
    warnOfOrphans(exchange, options);
    const { items, metadata } = await reads.select(exchange);
    const shown: ApiObject[] = [];
    for (const item of items) {
      try {
        await this.remove(exchange, item.metadata.name, options, item.metadata.namespace);
      } catch (error) {
        if (!(error instanceof StatusError && error.status.code === 404)) throw error;
      }
      shown.push(await resource.type.convert(item, version.name));
    }
    return { items: shown, metadata };
  }

  remove(
    exchange: Exchange,
    name: string,
    options: DeleteOptions,
    namespace?: string,
  ): Promise<{ object: ApiObject; gone: boolean }> {
    const { resource, version } = exchange;
    return this.#delete(exchange, name, options, {
      ...(namespace !== undefined && { namespace }),
      validate: async (object) => {
        const oldObject = await resource.type.convert(object, version.name);
        const input = {
          operation: "DELETE" as const,
          dryRun: options.dryRun,
          options: admissionDeleteOptions(options),
          object: undefined,
          oldObject,
          name,
        };
        await this.#admission.admit(exchange, input);
        await this.#admission.validate(exchange, input);
      },
    });
  }

  /** Deletes what another request, which has been admitted already, asks to be deleted: an eviction. */
  removeAdmitted(exchange: Exchange, name: string, options: DeleteOptions): Promise<unknown> {
    return this.#delete(exchange, name, options, { validate: async () => {} });
  }

  #delete(
    exchange: Exchange,
    name: string,
    options: DeleteOptions,
    { namespace, validate }: { namespace?: string; validate: (object: ApiObject) => Promise<void> },
  ): Promise<{ object: ApiObject; gone: boolean }> {
    const context = strategyContext(exchange, this.#world, options.dryRun);
    return this.#objects.delete({
      resource: exchange.resource,
      name,
      context: namespace === undefined ? context : { ...context, namespace },
      options,
      validate,
    });
  }
}

/** Jobs alone leave their pods behind by default, which surprises people. */
function warnOfOrphans({ resource, warnings }: Exchange, options: DeleteOptions): void {
  if (resource.group !== "batch" || resource.resource !== "jobs") return;
  if (options.propagationPolicy || options.orphanDependents !== undefined) return;
  warnings.add(
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  );
}

async function readDeleteOptions(exchange: Exchange): Promise<DeleteOptions> {
  const { request, info } = exchange;
  const bytes = await request.body();
  let value: JsonValue | undefined;
  if (bytes.length > 0) {
    const type = header(request.headers, "content-type");
    value = (
      await decodeBody(bytes, type, {
        kind: "DeleteOptions",
        custom: false,
        user: exchange.user.name,
      })
    ).value;
  }
  return deleteOptions(info.query, value);
}

function admissionDeleteOptions(options: DeleteOptions): JsonObject {
  const preconditions: JsonObject = {};
  if (options.uid !== undefined) preconditions.uid = options.uid;
  if (options.resourceVersion !== undefined) preconditions.resourceVersion = options.resourceVersion;
  return {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    ...(options.orphanDependents !== undefined && { orphanDependents: options.orphanDependents }),
    ...(options.propagationPolicy && { propagationPolicy: options.propagationPolicy }),
    ...(options.dryRun && { dryRun: ["All"] }),
  };
}

function successOf({ resource }: Exchange, object: ApiObject): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: object.metadata.name,
      ...(resource.group && { group: resource.group }),
      kind: resource.resource,
      ...(object.metadata.uid && { uid: object.metadata.uid }),
    },
  };
}
