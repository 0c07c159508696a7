/** Create, replace and patch, from the decoded request to the stored object. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { failure, type StatusError } from "../contracts/status-error.ts";
import { header } from "../messages/message.ts";
import { Turns } from "../messages/turns.ts";
import { apiVersionText } from "../registry/api-resource.ts";
import { type Admission, dedupeOwners } from "./admission.ts";
import { Conversions } from "./conversions.ts";
import {
  checkName,
  decodeObject,
  draftFrom,
  type Exchange,
  readBody,
  strategyContext,
  type World,
} from "./exchange.ts";
import { type FieldManager, type ManagedWrite, managerFromUserAgent } from "./field-manager.ts";
import { dropServersOwn, ensureNamespace, type ObjectStore } from "./object-store.ts";
import { type WriteOptions, writeOptions } from "./options.ts";
import { type Patch, readPatch } from "./patch.ts";

export interface WriteResult {
  readonly object: ApiObject;
  readonly created: boolean;
}

/** Throws the 403 that forbids creating what an apply or a replace would create. */
export type AuthorizeCreate = (exchange: Exchange) => Promise<StatusError | undefined>;

export class Writes {
  readonly #objects: ObjectStore;
  readonly #admission: Admission;
  readonly #fields: FieldManager;
  readonly #world: World;
  readonly #authorizeCreate: AuthorizeCreate;

  constructor(parts: {
    objects: ObjectStore;
    admission: Admission;
    fields: FieldManager;
    world: World;
    authorizeCreate: AuthorizeCreate;
  }) {
    this.#objects = parts.objects;
    this.#admission = parts.admission;
    this.#fields = parts.fields;
    this.#world = parts.world;
    this.#authorizeCreate = parts.authorizeCreate;
  }

  async create(exchange: Exchange): Promise<ApiObject> {
    const options = writeOptions("CreateOptions", exchange.info.query);
    const body = await readBody(exchange);
    const turns = new Turns(this.#world.clock);
    const draft = draftFrom(exchange, body, options.fieldValidation);
    ensureNamespace(exchange.resource, draft, exchange.info.namespace);
    dropServersOwn(draft.metadata);
    dedupeOwners(exchange, draft, false);
    if (turns.late()) await turns.rest();
    const owned = this.#fields.update(this.#managed(exchange, options), undefined, draft);
    if (turns.late()) await turns.rest();
    const admitting = this.#admit(exchange, owned, undefined, options);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    const working = this.#toWorking(exchange, admitted);
    const object = await this.#objects.create({
      resource: exchange.resource,
      draft: working instanceof Promise ? await working : working,
      context: strategyContext(exchange, this.#world, options.dryRun),
      warn: (text) => exchange.warnings.add(text),
      validate: (stored) => this.#validate(exchange, stored, undefined, options),
    });
    return this.#toRequest(exchange, object);
  }

  async replace(exchange: Exchange): Promise<WriteResult> {
    const options = writeOptions("UpdateOptions", exchange.info.query);
    const body = await readBody(exchange);
    // Checked before the stored object is looked at, so that a bad body is refused for absent objects too.
    const first = draftFrom(exchange, body, options.fieldValidation);
    checkName(exchange, first);
    ensureNamespace(exchange.resource, first, exchange.info.namespace);
    return this.#update(
      exchange,
      options,
      exchange.resource.strategy.allowCreateOnUpdate ?? false,
      (live, conversions) => {
        const draft = draftFrom(exchange, body, "Ignore");
        checkName(exchange, draft);
        dedupeOwners(exchange, draft, false);
        return this.#fields.update(this.#managed(exchange, options, conversions), live, draft);
      },
    );
  }

  async patch(exchange: Exchange): Promise<WriteResult> {
    const patch = await readPatch(exchange);
    const options = writeOptions("PatchOptions", exchange.info.query, patch.kind === "apply");
    const create = patch.kind === "apply" && exchange.info.subresource === "";
    return this.#update(exchange, options, create, (live, conversions) => {
      const write = this.#managed(exchange, options, conversions);
      return patch.kind === "apply"
        ? this.#applied(exchange, patch, live, options, write)
        : this.#patched(exchange, patch, live as ApiObject, options, write);
    });
  }

  #patched(
    exchange: Exchange,
    patch: Patch,
    live: ApiObject,
    options: WriteOptions,
    write: ManagedWrite,
  ): ApiObject {
    const draft = patch.applyTo(exchange, live, options.fieldValidation);
    exchange.resource.type.default(draft, exchange.version.name);
    checkName(exchange, draft);
    return this.#fields.update(write, live, draft);
  }

  #applied(
    exchange: Exchange,
    patch: Patch,
    live: ApiObject | undefined,
    options: WriteOptions,
    write: ManagedWrite,
  ): ApiObject {
    const config = patch.config as JsonObject;
    const merged = this.#fields.apply(write, live, config, options.force);
    patch.reportStrict(exchange, options.fieldValidation);
    const strict: string[] = [];
    const draft = decodeApplied(exchange, merged, config, strict);
    exchange.resource.type.default(draft, exchange.version.name, true);
    checkName(exchange, draft);
    return draft;
  }

  async #update(
    exchange: Exchange,
    options: WriteOptions,
    create: boolean,
    change: (live: ApiObject | undefined, conversions: Conversions | undefined) => ApiObject,
  ): Promise<WriteResult> {
    const { resource, info } = exchange;
    const context = strategyContext(exchange, this.#world, options.dryRun);
    const result = await this.#objects.update({
      resource,
      name: info.name,
      context,
      create,
      uidPrecondition: options.kind === "UpdateOptions",
      unconditional: resource.strategy.allowUnconditionalUpdate ?? !resource.custom,
      subresource: info.subresource,
      warn: (text) => exchange.warnings.add(text),
      build: async (existing) => {
        if (!existing && exchange.resource.table) {
          const denied = await this.#authorizeCreate(exchange);
          if (denied) throw denied;
        }
        const turns = new Turns(this.#world.clock);
        const live = existing && (await this.#toRequest(exchange, existing));
        const conversions = resource.type.convertBare && new Conversions();
        const draft = conversions
          ? await conversions.settle(() => change(live, conversions))
          : change(live, undefined);
        ensureNamespace(resource, draft, info.namespace);
        if (turns.late()) await turns.rest();
        const admitted = await this.#admit(exchange, draft, live, options);
        return this.#toWorking(exchange, admitted);
      },
      validate: (stored, old) => this.#validate(exchange, stored, old, options),
    });
    return { object: await this.#toRequest(exchange, result.object), created: result.created };
  }

  #admit(
    exchange: Exchange,
    draft: ApiObject,
    oldObject: ApiObject | undefined,
    options: WriteOptions,
  ): ApiObject | Promise<ApiObject> {
    const admitted = this.#admission.admit(exchange, {
      operation: oldObject ? "UPDATE" : "CREATE",
      dryRun: options.dryRun,
      options: admissionOptions(options, oldObject !== undefined),
      object: draft,
      oldObject,
    });
    const completed = (given: ApiObject | undefined): ApiObject => {
      let object = given as ApiObject;
      if (object !== draft) {
        object = decodeObject(exchange, object, []);
        exchange.resource.type.default(object, exchange.version.name);
      }
      dedupeOwners(exchange, object, true);
      return object;
    };
    return admitted instanceof Promise ? admitted.then(completed) : completed(admitted);
  }

  #validate(
    exchange: Exchange,
    stored: ApiObject,
    old: ApiObject | undefined,
    options: WriteOptions,
  ): Promise<void> | undefined {
    const shown = this.#toRequest(exchange, stored);
    const shownOld = old && this.#toRequest(exchange, old);
    if (shown instanceof Promise || shownOld instanceof Promise)
      return Promise.all([shown, shownOld]).then(([object, oldObject]) =>
        this.#validateShown(exchange, object, oldObject, stored.metadata.name, options),
      );
    return this.#validateShown(exchange, shown, shownOld, stored.metadata.name, options);
  }

  #validateShown(
    exchange: Exchange,
    object: ApiObject,
    oldObject: ApiObject | undefined,
    name: string,
    options: WriteOptions,
  ): Promise<void> | undefined {
    return this.#admission.validate(exchange, {
      operation: oldObject ? "UPDATE" : "CREATE",
      dryRun: options.dryRun,
      options: admissionOptions(options, oldObject !== undefined),
      object,
      oldObject,
      ...(name && { name }),
    });
  }

  #managed(exchange: Exchange, options: WriteOptions, conversions?: Conversions): ManagedWrite {
    const { resource, version, info, request } = exchange;
    return {
      resource,
      version: version.name,
      subresource: info.subresource,
      manager: options.fieldManager || managerFromUserAgent(header(request.headers, "user-agent")),
      conversions,
    };
  }

  #toWorking(exchange: Exchange, draft: ApiObject): ApiObject | Promise<ApiObject> {
    return exchange.resource.type.toWorking(draft, exchange.version.name);
  }

  #toRequest(exchange: Exchange, object: ApiObject): ApiObject | Promise<ApiObject> {
    return exchange.resource.type.convert(object, exchange.version.name);
  }
}

/** The merged object as a draft; what fits the schema may still not fit the kind. */
function decodeApplied(
  exchange: Exchange,
  merged: JsonObject,
  config: JsonObject,
  strict: string[],
): ApiObject {
  const { resource, version } = exchange;
  try {
    return decodeObject(exchange, merged, strict);
  } catch (error) {
    const fault = resource.type.restoreFault?.(merged, version.name);
    if (fault === undefined) throw error;
    const { name = "", namespace = "" } = config.metadata as { name?: string; namespace?: string };
    const kind = `${apiVersionText(resource, version.name)}, Kind=${resource.kind}`;
    const shown = resource.group ? kind : `/${kind}`;
    throw failure({
      code: 500,
      reason: "",
      message: `failed to convert new object (${namespace}/${name}; ${shown}) to proper version: unable to convert unstructured object to ${shown}: ${fault}`,
      cause: error,
    });
  }
}

/** What admission is told about the request. */
export function admissionOptions(options: WriteOptions, update: boolean): JsonObject {
  const out: JsonObject = {
    kind: update ? "UpdateOptions" : "CreateOptions",
    apiVersion: "meta.k8s.io/v1",
  };
  if (options.dryRun) out.dryRun = ["All"];
  if (options.fieldManager) out.fieldManager = options.fieldManager;
  if (options.fieldValidation !== "Warn") out.fieldValidation = options.fieldValidation;
  return out;
}
