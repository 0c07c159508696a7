/** The life of stored objects: create, update, delete, with the rules all kinds share. */
import {
  type Clock,
  deepEqual,
  formatTime,
  type JsonObject,
  type JsonValue,
  type Random,
} from "@keelson/core";
import { generateName } from "@keelson/core/internal";
import { type FieldError, goQuote, invalidField } from "../contracts/field-error.ts";
import { ruled } from "../contracts/numbers.ts";
import type { ApiMeta, ApiObject } from "../contracts/object.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  failure,
  generateNameConflict,
  invalid,
  modifiedMessage,
  notFound,
  StatusError,
} from "../contracts/status-error.ts";
import type { StrategyContext, SubresourceStrategy } from "../contracts/strategy.ts";
import { Turns } from "../messages/turns.ts";
import { type ApiResource, keyFor, versionOf } from "../registry/api-resource.ts";
import type { DeleteOptions } from "../registry/deletion.ts";
import {
  pathSegmentName,
  subdomainName,
  validateMetadata,
  validateMetadataUpdate,
} from "../registry/metadata.ts";
import { RevisionConflict, type Store } from "../storage/store.ts";
import type { Table } from "../storage/table.ts";
import { deletionOf } from "./deletion.ts";
import { sameButForTimes } from "./managed-times.ts";

/** A retry each time another writer was faster; more would mean livelock. */
const maxAttempts = 100;
const maxNameAttempts = 8;

export type Validate = (object: ApiObject, old: ApiObject | undefined) => Promise<void> | undefined;

export interface CreateRequest {
  readonly resource: ApiResource;
  /** In the working version; owned by the store from here on. */
  readonly draft: ApiObject;
  readonly context: StrategyContext;
  /** Validating admission. */
  readonly validate: Validate;
  readonly warn: (text: string) => void;
  /** An update or an apply of what is not there. */
  readonly byUpdate?: boolean;
}

export interface UpdateRequest {
  readonly resource: ApiResource;
  readonly name: string;
  readonly context: StrategyContext;
  /** The new object from the present one, both in the working version; `undefined` stands for none. */
  readonly build: (existing: ApiObject | undefined) => Promise<ApiObject>;
  /** Empty for the resource itself. */
  readonly subresource: string;
  /** Whether an absent object is created. */
  readonly create: boolean;
  /** Whether the object's uid says which object is meant, rather than what it should become. */
  readonly uidPrecondition: boolean;
  /** Whether an object without resourceVersion replaces whatever is there. */
  readonly unconditional: boolean;
  readonly validate: Validate;
  readonly warn: (text: string) => void;
}

export interface DeleteRequest {
  readonly resource: ApiResource;
  readonly name: string;
  readonly context: StrategyContext;
  readonly options: DeleteOptions;
  readonly validate: (object: ApiObject) => Promise<void>;
}

/** The object that an update starts from: as it is stored, and in the working version. */
interface Present {
  readonly table: Table;
  readonly key: string;
  readonly base: ApiObject;
  readonly existing: ApiObject;
}

export class ObjectStore {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
  }

  async create(request: CreateRequest): Promise<ApiObject> {
    const { draft } = request;
    const { generateName: base } = draft.metadata;
    if (draft.metadata.name || typeof base !== "string" || !base) return this.#create(request);
    for (let attempt = 1; ; attempt++) {
      const named = { ...draft, metadata: { ...draft.metadata, name: generateName(base, this.#random) } };
      try {
        return await this.#create({ ...request, draft: structuredClone(named) });
      } catch (error) {
        if (attempt >= maxNameAttempts || !isAlreadyExists(error)) throw error;
      }
    }
  }

  async #create(request: CreateRequest): Promise<ApiObject> {
    const { resource, draft, context } = request;
    const turns = new Turns(this.#clock);
    this.#beforeCreate(request);
    resource.type.settle?.(draft);
    if (turns.late()) await turns.rest();
    const validating = request.validate(draft, undefined);
    if (validating) await validating;
    const table = tableOf(resource);
    const key = keyFor(resource, draft.metadata.namespace ?? "", draft.metadata.name);
    // Only the storage minds, and a trial run does not get there. One that an update makes may name any.
    if (draft.metadata.resourceVersion && !context.dryRun) {
      if (!request.byUpdate) throw resourceVersionOnCreate();
      delete draft.metadata.resourceVersion;
    }
    const current = table.get(key);
    if (current) throw existsError(resource, draft, current);
    resource.strategy.beforeCommit?.(draft, undefined, context);
    if (context.dryRun) return draft;
    const stored = resource.type.toStorage(draft);
    return this.#store.create(table, key, stored instanceof Promise ? await stored : stored);
  }

  #beforeCreate({ resource, draft, context, warn }: CreateRequest): void {
    const { strategy } = resource;
    const meta = draft.metadata;
    meta.uid = this.#random.uuid();
    meta.creationTimestamp = formatTime(this.#clock.now());
    dropServersOwn(meta);
    ensureNamespace(resource, draft, context.namespace);
    if (hasStatus(resource)) resource.type.resetStatus(draft);
    if (strategy.generation === "spec") meta.generation = 1;
    strategy.prepareForCreate?.(draft, context);
    const errors = [
      ...validateMetadata(meta, metadataRules(resource)),
      ...(ruled((object) => strategy.validate?.(object, context), draft) ?? []),
      ...(resource.type.validateSchema?.(draft, undefined, context, warn) ?? []),
    ];
    this.#refuse(resource, meta.name, errors);
    for (const text of ruled((object) => strategy.warningsOnCreate?.(object, context), draft) ?? [])
      warn(text);
    strategy.canonicalize?.(draft);
  }

  async update(request: UpdateRequest): Promise<{ object: ApiObject; created: boolean }> {
    const { resource, name, context } = request;
    const table = tableOf(resource);
    const key = keyFor(resource, context.namespace, name);
    for (let attempt = 1; ; attempt++) {
      const base = table.get(key);
      if (!base && !request.create) throw notFound(resource, name);
      const existing = base && (await resource.type.toWorking(base, context.version));
      const draft = await request.build(existing);
      try {
        if (!existing || !base) return { object: await this.#createByUpdate(request, draft), created: true };
        const object = await this.#replace(request, { table, key, base, existing }, draft);
        return { object, created: false };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        if (attempt >= maxAttempts) throw conflict(resource, name, modifiedMessage);
      }
    }
  }

  async #createByUpdate(request: UpdateRequest, draft: ApiObject): Promise<ApiObject> {
    const { resource, context, warn } = request;
    if (draft.metadata.uid)
      throw conflict(
        resource,
        request.name,
        `uid mismatch: the provided object specified uid ${draft.metadata.uid}, and no existing object was found`,
      );
    return this.#create({
      resource,
      draft,
      context,
      warn,
      validate: (object) => request.validate(object, undefined),
      byUpdate: true,
    });
  }

  async #replace(request: UpdateRequest, present: Present, draft: ApiObject): Promise<ApiObject> {
    const { resource, context } = request;
    const { table, key, base, existing } = present;
    const turns = new Turns(this.#clock);
    resource.type.settle?.(draft);
    this.#checkPreconditions(request, draft, existing);
    this.#beforeUpdate(request, draft, existing);
    if (turns.late()) await turns.rest();
    const settled = sameButForTimes(draft, existing) ? existing : draft;
    await request.validate(settled, existing);
    if (table.get(key) !== base) throw new RevisionConflict(table.get(key));
    if (isEmptied(draft, existing) && (resource.lifeCycle?.mayGo?.(draft) ?? true)) {
      if (!context.dryRun) this.#remove(resource, table, key, base, context);
      return draft;
    }
    if (settled === existing) return existing;
    if (!request.subresource) resource.strategy.beforeCommit?.(draft, existing, context);
    if (context.dryRun) return draft;
    const stored = resource.type.toStorage(draft);
    return this.#store.update(table, key, stored instanceof Promise ? await stored : stored, base);
  }

  #checkPreconditions(request: UpdateRequest, draft: ApiObject, existing: ApiObject): void {
    const { resource, name } = request;
    const { uid, resourceVersion } = draft.metadata;
    if (request.uidPrecondition && uid && uid !== existing.metadata.uid)
      throw conflict(
        resource,
        name,
        `StorageError: invalid object, Code: 4, Key: ${registryKey(resource, request.context.namespace, name)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${existing.metadata.uid}`,
      );
    if (!resourceVersion || resourceVersion === "0") {
      if (!request.unconditional)
        throw invalid({ group: resource.group, kind: resource.resource }, name, [
          invalidField("metadata.resourceVersion", 0, "must be specified for an update"),
        ]);
      draft.metadata.resourceVersion = existing.metadata.resourceVersion as string;
    } else if (!/^\d+$/.test(resourceVersion)) {
      throw failure({
        code: 500,
        reason: "",
        message: `strconv.ParseUint: parsing ${goQuote(resourceVersion)}: invalid syntax`,
      });
    } else if (BigInt(resourceVersion) !== BigInt(existing.metadata.resourceVersion as string)) {
      throw conflict(resource, name, modifiedMessage);
    }
  }

  #beforeUpdate(
    { resource, context, subresource, warn }: UpdateRequest,
    draft: ApiObject,
    old: ApiObject,
  ): void {
    const { strategy } = resource;
    ensureNamespace(resource, draft, context.namespace);
    copyOrDelete(draft.metadata, old.metadata, "generation");
    const rules = this.#prepareForUpdate(resource, subresource, draft, old, context);
    const meta = draft.metadata;
    if (!meta.uid) meta.uid = old.metadata.uid as string;
    if (old.metadata.creationTimestamp) meta.creationTimestamp = old.metadata.creationTimestamp;
    if (old.metadata.deletionTimestamp) meta.deletionTimestamp = old.metadata.deletionTimestamp;
    if (meta.deletionGracePeriodSeconds === undefined)
      copyOrDelete(meta, old.metadata, "deletionGracePeriodSeconds");
    delete meta.selfLink;
    if ((subresource === "" || subresource === "scale") && changesGeneration(resource, draft, old))
      meta.generation = (old.metadata.generation ?? 0) + 1;
    const errors = [
      ...validateMetadataUpdate(meta, old.metadata, metadataRules(resource, subresource)),
      ...(ruled((object, before) => rules.validateUpdate?.(object, before, context), draft, old) ?? []),
      ...(resource.type.validateSchema?.(draft, old, context, warn) ?? []),
    ];
    this.#refuse(resource, meta.name, errors);
    for (const text of ruled(
      (object, before) => rules.warningsOnUpdate?.(object, before, context),
      draft,
      old,
    ) ?? [])
      warn(text);
    strategy.canonicalize?.(draft);
  }

  /** The rules of the path written to, after they have taken from the draft what it may change. */
  #prepareForUpdate(
    resource: ApiResource,
    subresource: string,
    draft: ApiObject,
    old: ApiObject,
    context: StrategyContext,
  ): SubresourceStrategy {
    const { strategy } = resource;
    if (subresource === "" || subresource === "scale") {
      const field = hasStatus(resource) ? "status" : undefined;
      if (field) copyOrDelete(draft, old, field);
      strategy.prepareForUpdate?.(draft, old, context);
      return strategy;
    }
    const rules = strategy.subresources?.[subresource];
    if (subresource === "status") resource.type.keepAllButStatus(draft, old);
    rules?.prepareForUpdate?.(draft, old, context);
    return rules ?? {};
  }

  async delete(request: DeleteRequest): Promise<{ object: ApiObject; gone: boolean }> {
    const { resource, name, context, options } = request;
    const table = tableOf(resource);
    const key = keyFor(resource, context.namespace, name);
    for (let attempt = 1; ; attempt++) {
      const existing = table.get(key);
      if (!existing) throw notFound(resource, name);
      const own = resource.lifeCycle?.deletion;
      if (!own) this.#checkDeletePreconditions(resource, existing, options);
      await request.validate(existing);
      if (table.get(key) !== existing) {
        if (attempt >= maxAttempts) throw conflict(resource, name, modifiedMessage);
        continue;
      }
      const nowMs = this.#clock.now();
      const outcome = own?.(existing, options, nowMs) ?? deletionOf(resource, existing, options, nowMs);
      if (outcome.kind === "pending") return { object: existing, gone: false };
      const marked = outcome.draft;
      const gone = outcome.kind === "remove";
      if (context.dryRun) return { object: marked ?? existing, gone };
      // A graceful deletion without grace is seen first as a change, then as the deletion.
      const last =
        !marked || sameButForTimes(marked, existing)
          ? existing
          : this.#store.update(table, key, marked, existing);
      return { object: gone ? this.#remove(resource, table, key, last, context) : last, gone };
    }
  }

  #remove(
    resource: ApiResource,
    table: Table,
    key: string,
    existing: ApiObject,
    context: StrategyContext,
  ): ApiObject {
    const removed = this.#store.delete(table, key, existing);
    resource.strategy.afterDelete?.(removed, context);
    return removed;
  }

  #checkDeletePreconditions(resource: ApiResource, existing: ApiObject, options: DeleteOptions): void {
    const subject = { group: resource.group, resource: resource.kind };
    const { name, uid, resourceVersion } = existing.metadata;
    if (options.uid !== undefined && options.uid !== uid)
      throw conflict(
        subject,
        name,
        `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      );
    if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion)
      throw conflict(
        subject,
        name,
        `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
      );
  }

  #refuse(resource: ApiResource, name: string | undefined, errors: readonly FieldError[]): void {
    // Events of either group are the core's inside the server, and are called so.
    const kind = resource.kind === "Event" && !resource.custom ? { group: "", kind: "Event" } : resource;
    if (errors.length > 0) throw invalid(kind, name ?? "", errors);
  }
}

export function tableOf(resource: ApiResource): Table {
  if (!resource.table) throw notFound(resource, "");
  return resource.table;
}

export function metadataRules(resource: ApiResource, subresource = "") {
  const { metadataChecks: checks } = resource;
  return {
    namespaced: resource.namespaced,
    validateName: resource.strategy.validateName ?? (resource.custom ? pathSegmentName : subdomainName),
    checks: subresource === "status" ? { ...checks, full: 0, update: checks.status } : checks,
  };
}

/** Whether the stored version keeps status apart from the rest. */
function hasStatus(resource: ApiResource): boolean {
  if (resource.strategy.statusField !== undefined) return resource.strategy.statusField !== null;
  const stored = resource.versions.get(versionOf({ apiVersion: resource.storageVersion }));
  const any = stored ?? [...resource.versions.values()][0];
  return any?.subresources.has("status") ?? false;
}

/** What only the server may set is not the writer's. */
export function dropServersOwn(meta: ApiMeta): void {
  // Deleting what is not there is slow, and mostly it is not there.
  if (meta.deletionTimestamp !== undefined) delete meta.deletionTimestamp;
  if (meta.deletionGracePeriodSeconds !== undefined) delete meta.deletionGracePeriodSeconds;
  if (meta.selfLink !== undefined) delete meta.selfLink;
}

export function ensureNamespace(resource: ApiResource, draft: ApiObject, namespace: string): void {
  const meta = draft.metadata;
  const expected = resource.namespaced ? namespace : "";
  if (meta.namespace === expected || (!meta.namespace && !expected)) {
    if (!expected) delete meta.namespace;
    return;
  }
  if (!meta.namespace) {
    meta.namespace = expected;
    return;
  }
  if (!resource.namespaced) {
    delete meta.namespace;
    return;
  }
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

function changesGeneration(resource: ApiResource, draft: ApiObject, old: ApiObject): boolean {
  const rule = resource.strategy.generation;
  if (typeof rule === "function") return rule(draft, old);
  return rule === "spec" && !deepEqual(draft.spec, old.spec);
}

function copyOrDelete(target: JsonObject, source: JsonObject, field: string): void {
  const value = source[field];
  if (value === undefined) delete target[field];
  else target[field] = value as JsonValue;
}

/** The last finalizer of an object that is being deleted is gone. */
function isEmptied(draft: ApiObject, existing: ApiObject): boolean {
  if (draft.metadata.finalizers?.length) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = existing.metadata;
  return Boolean(deletionTimestamp) && !deletionGracePeriodSeconds;
}

function existsError(resource: ApiResource, draft: ApiObject, current: ApiObject): StatusError {
  const { name, generateName: base } = draft.metadata;
  const error = base ? generateNameConflict(resource, name) : alreadyExists(resource, name);
  if (!current.metadata.deletionTimestamp) return error;
  return new StatusError({ ...error.status, message: `object is being deleted: ${error.status.message}` });
}

function isAlreadyExists(error: unknown): boolean {
  return error instanceof StatusError && error.status.reason === "AlreadyExists";
}

function resourceVersionOnCreate(): StatusError {
  return failure({
    code: 500,
    reason: "",
    message: "resourceVersion should not be set on objects to be created",
  });
}

function registryKey(resource: ApiResource, namespace: string, name: string): string {
  const prefix = resource.custom || resource.group.includes(".") ? `${resource.group}/` : "";
  return `/registry/${prefix}${resource.resource}/${resource.namespaced ? `${namespace}/` : ""}${name}`;
}
