/**
 * Server-side apply, and the bookkeeping of ownership for every other write.
 *
 * Pure: objects in, objects out; time is an argument. Inputs are never changed, and results share with
 * them whatever did not change.
 */
import { deepEqual } from "../json.ts";
import { parseApiVersion } from "../kind.ts";
import type { JsonObject, ManagedFieldsEntry, Time } from "../object.ts";
import type { StatusCause } from "../status.ts";
import { describeConflicts } from "./conflict-message.ts";
import { fieldsOfNew } from "./created-fields.ts";
import { MergeError } from "./errors.ts";
import type { FieldSet } from "./field-set.ts";
import { conflictsAfterLastApplied, syncLastApplied } from "./last-applied.ts";
import {
  capUpdaters,
  decodeManagedFields,
  encodeManagedFields,
  isReset,
  type ManagerIdentity,
  managedFieldsOf,
  managerId,
  neverOwned,
  type Owners,
  withManagedFields,
} from "./managed-fields.ts";
import { type ManagedResource, Versions } from "./managed-resource.ts";
import { prune } from "./prune.ts";
import type { TypeRef } from "./schema.ts";
import { type ApplyConflict, reconcile, settle } from "./settle.ts";
import type { ElementMemo } from "./typed.ts";
import { type Comparison, compareTyped } from "./typed-compare.ts";
import { checkedFieldsOf, checkType } from "./typed-fields.ts";
import { type MergeNotes, mergeTypedNoting } from "./typed-merge.ts";

/** A write that is not an apply, for the ownership of fields. */
export interface UpdateRequest {
  readonly resource: ManagedResource;
  /** The stored object at the request's version; absent on create. */
  readonly live?: JsonObject;
  /** The object about to be stored, at the request's version. */
  readonly updated: JsonObject;
  /** Who writes; empty means `unknown`. */
  readonly manager: string;
  readonly now: Time;
}

/** A server-side apply: what a manager applies to an object. */
export interface ApplyRequest {
  readonly resource: ManagedResource;
  readonly live?: JsonObject;
  /** The applied configuration. */
  readonly config: JsonObject;
  readonly manager: string;
  readonly force?: boolean;
  readonly now: Time;
}

/** The object after an apply, and who owns its fields; or the conflicts. */
export type ApplyResult =
  | {
      /** The merged object with its ownership, before defaults. */
      readonly object: JsonObject;
      /** Whether anything but ownership differs from `live`. */
      readonly changed: boolean;
      readonly conflicts?: undefined;
    }
  | {
      readonly conflicts: readonly ApplyConflict[];
      /** The wording and the causes of the API server's 409. */
      readonly message: string;
      readonly causes: StatusCause[];
    };

/**
 * Records a write that is not an apply. Returns `updated` with its ownership entries.
 *
 * The writer comes to own what it changed or added; others lose what was changed or removed. Entries in
 * `updated` are honoured (or, on a subresource, ignored); an empty list or `[{}]` clears them. Objects
 * whose ownership was cleared are not tracked until the next apply. Throws a {@link MergeError} when an
 * object does not fit its type; the API server then stores the object without entries.
 */
export function applyUpdate(request: UpdateRequest): JsonObject {
  const { resource, live, updated, manager, now } = request;
  const owners = ownersForUpdate(resource, live, updated);
  const bare = withManagedFields(updated, []);
  if (owners.size === 0 && hasUid(live)) return bare;
  const recorded =
    live === undefined && owners.size === 0
      ? recordCreate(resource, bare, manager, now)
      : recordUpdate(resource, bareLive(resource, live), bare, owners, manager, now, live);
  return withManagedFields(bare, encodeManagedFields(recorded));
}

/** As {@link applyUpdate}, but an object that does not fit its type goes on without entries, as on the API server. */
export function applyUpdateOrClear(request: UpdateRequest): JsonObject {
  try {
    return applyUpdate(request);
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    return withManagedFields(request.updated, []);
  }
}

/**
 * Applies a configuration: merges it into the live object, removes what the manager applied before and
 * left out now (unless somebody else owns it), and records ownership. Conflicts are returned, not thrown.
 *
 * Throws a {@link MergeError}: `BadApply` for a configuration of another kind or with ownership entries
 * (400), `TypeMismatch` when it does not fit the schema (the API server answers 500).
 */
export function applyPatch(request: ApplyRequest): ApplyResult {
  const { resource, config } = request;
  checkConfig(resource, config);
  let owners = decodeManagedFields(managedFieldsOf(request.live));
  const live = bareLive(resource, request.live);
  if (owners.size === 0) {
    owners = recordUpdate(resource, zeroOf(resource), live, owners, "before-first-apply", request.now);
  }
  let result = attempt(request, live, owners, request.force === true);
  if (result.conflicts !== undefined && request.manager === "kubectl") {
    const refused = conflictsAfterLastApplied(resource, live, result.conflicts);
    if (refused !== undefined) {
      result = refused.length > 0 ? { conflicts: refused } : attempt(request, live, owners, true);
    }
  }
  if (result.conflicts !== undefined) {
    return { conflicts: result.conflicts, ...describeConflicts(result.conflicts) };
  }
  const object = request.manager === "kubectl" ? syncLastApplied(result.object, config) : result.object;
  return {
    object: withManagedFields(object, encodeManagedFields(result.owners)),
    changed: result.object !== live,
  };
}

/**
 * Puts the old times back when nothing but times differs, so that a write without effect stays without
 * effect.
 */
export function keepTimesIfUnchanged(live: JsonObject, updated: JsonObject): JsonObject {
  const before = managedFieldsOf(live) ?? [];
  const after = managedFieldsOf(updated) ?? [];
  if (before.length !== after.length || after.length === 0) return updated;
  if (after.every((entry, i) => entry.time === before[i]?.time)) return updated;
  for (let i = 0; i < after.length; i++) {
    const { time: _before, ...rest } = before[i] as ManagedFieldsEntry;
    const { time: _after, ...other } = after[i] as ManagedFieldsEntry;
    if (!deepEqual(rest, other)) return updated;
  }
  if (!deepEqual(withManagedFields(live, []), withManagedFields(updated, []))) return updated;
  return withManagedFields(updated, before);
}

function hasUid(object: JsonObject | undefined): boolean {
  const uid = (object?.metadata as { uid?: string } | undefined)?.uid;
  return uid !== undefined && uid !== "";
}

function zeroOf(resource: ManagedResource): JsonObject {
  return { apiVersion: resource.apiVersion, kind: resource.kind, ...resource.zero };
}

function bareLive(resource: ManagedResource, live: JsonObject | undefined): JsonObject {
  return live === undefined ? zeroOf(resource) : withManagedFields(live, []);
}

function ownersForUpdate(
  resource: ManagedResource,
  live: JsonObject | undefined,
  updated: JsonObject,
): Owners {
  if (!resource.subresource) {
    const entries = managedFieldsOf(updated);
    const stored = managedFieldsOf(live);
    // Writers mostly send back what they read; the stored entries are likely known already.
    if (stored !== undefined && deepEqual(entries, stored)) return decodeOrEmpty(stored);
    if (isReset(entries)) return new Map();
    const given = decodeOrEmpty(entries);
    if (given.size > 0) return given;
  }
  return decodeOrEmpty(managedFieldsOf(live));
}

function decodeOrEmpty(entries: readonly ManagedFieldsEntry[] | undefined): Owners {
  try {
    return decodeManagedFields(entries);
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    return new Map();
  }
}

function identity(
  resource: ManagedResource,
  manager: string,
  operation: "Apply" | "Update",
): ManagerIdentity {
  return {
    manager: manager === "" ? "unknown" : manager,
    operation,
    subresource: resource.subresource ?? "",
    apiVersion: resource.apiVersion,
  };
}

function recordUpdate(
  resource: ManagedResource,
  live: JsonObject,
  updated: JsonObject,
  given: Owners,
  manager: string,
  now: Time,
  stored?: JsonObject,
): Owners {
  checkStored(updated, resource.type, "failed to convert new object");
  checkLive(live, stored, resource.type, "failed to convert live object");
  const versions = new Versions(resource);
  const settled = settle(resource, versions, live, updated, reconcile(versions, live, given), "", true);
  if ("conflicts" in settled) throw new Error("an update cannot conflict");
  const { owners, comparison } = settled;
  const fields = ownedOf(resource, comparison);
  if (!fields.isEmpty) {
    const who = identity(resource, manager, "Update");
    const id = managerId(who);
    const previous = owners.get(id);
    owners.set(id, {
      ...who,
      fields: previous === undefined ? fields : fields.union(previous.fields),
      time: now,
    });
  }
  capUpdaters(owners);
  return owners;
}

/** As {@link recordUpdate}, of an object that nobody owns anything of yet. */
function recordCreate(resource: ManagedResource, created: JsonObject, manager: string, now: Time): Owners {
  const fields = fieldsOfNew(resource, created, () => {
    const zero = zeroOf(resource);
    checkStored(created, resource.type, "failed to convert new object");
    checkStored(zero, resource.type, "failed to convert live object");
    return ownedOf(resource, compareTyped(zero, created, resource.type));
  });
  if (fields.isEmpty) return new Map();
  const who = identity(resource, manager, "Update");
  return new Map([[managerId(who), { ...who, fields, time: now }]]);
}

/** Of what changed, what its writer owns. */
function ownedOf(resource: ManagedResource, comparison: Comparison): FieldSet {
  let fields = comparison.modified.union(comparison.added);
  const ignored = resource.resetFields?.get(resource.apiVersion);
  if (ignored !== undefined) fields = fields.recursiveDifference(ignored);
  return fields.difference(neverOwned).shared();
}

type Attempt =
  | { readonly object: JsonObject; readonly owners: Owners; readonly conflicts?: undefined }
  | { readonly conflicts: readonly ApplyConflict[] };

function attempt(request: ApplyRequest, live: JsonObject, given: Owners, force: boolean): Attempt {
  const { resource, config, now } = request;
  const memo: ElementMemo = new Map();
  let fields = explain(config, "failed to create typed patch object", () =>
    checkedFieldsOf(config, resource.type, memo),
  );
  checkLive(live, request.live, resource.type, "failed to create typed live object");
  const versions = new Versions(resource);
  const owners = reconcile(versions, live, given);
  const who = identity(resource, request.manager, "Apply");
  const id = managerId(who);
  const last = owners.get(id);
  const ignored = resource.resetFields?.get(resource.apiVersion);
  if (ignored !== undefined) fields = fields.recursiveDifference(ignored);
  owners.set(id, { ...who, fields, ...(last?.time === undefined ? {} : { time: last.time }) });

  const notes: MergeNotes = { memo };
  const merged = mergeTypedNoting(live, config, resource.type, notes) as JsonObject;
  // Applying the same fields again removes nothing; it is the common case and worth not walking.
  const stripped = fields.difference(neverOwned);
  const again =
    notes.hollow !== true && last?.apiVersion === resource.apiVersion && last.fields.equals(stripped);
  let object = again ? merged : prune(resource, versions, merged, owners, last);
  if (object !== live && deepEqual(object, live)) object = live;

  const settled = settle(resource, versions, live, object, owners, id, force);
  if ("conflicts" in settled) return settled;
  // The set that was there keeps its text; an equal one would have to be written out again.
  const kept = again ? last.fields : stripped;
  if (kept.isEmpty) settled.owners.delete(id);
  else {
    const time = object === live ? last?.time : now;
    settled.owners.set(id, { ...who, fields: kept, ...(time === undefined ? {} : { time }) });
  }
  return { object, owners: settled.owners };
}

function checkConfig(resource: ManagedResource, config: JsonObject): void {
  const apiVersion = typeof config.apiVersion === "string" ? config.apiVersion : "";
  const kind = typeof config.kind === "string" ? config.kind : "";
  if (apiVersion !== resource.apiVersion || kind !== resource.kind) {
    throw new MergeError("BadApply", `invalid object type: ${displayKind(apiVersion, kind)}`);
  }
  if (managedFieldsOf(config) !== undefined) {
    throw new MergeError("BadApply", "metadata.managedFields must be nil");
  }
}

function displayKind(apiVersion: string, kind: string): string {
  const { group, version } = parseApiVersion(apiVersion);
  return `${group}/${version}, Kind=${kind}`;
}

/** Stored objects that fit their type, found once. */
const fitting = new WeakMap<JsonObject, TypeRef>();

/** Checks the live object, unless it is one that was found to fit; `stored` is it with its ownership. */
function checkLive(live: JsonObject, stored: JsonObject | undefined, type: TypeRef, doing: string): void {
  if (stored !== undefined && fitting.get(stored) === type) return;
  checkStored(live, type, doing);
  if (stored !== undefined && Object.isFrozen(stored)) fitting.set(stored, type);
}

function checkStored(object: JsonObject, type: TypeRef, doing: string): void {
  explain(object, doing, () => checkType(object, type, { allowDuplicates: true }));
}

/** Says which object a type error is about, in the API server's words. */
function explain<T>(object: JsonObject, doing: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    const { name = "", namespace = "" } = (object.metadata ?? {}) as { name?: string; namespace?: string };
    const what = displayKind(String(object.apiVersion ?? ""), String(object.kind ?? ""));
    throw new MergeError(error.code, `${doing} (${namespace}/${name}; ${what}): ${error.message}`, {
      cause: error,
    });
  }
}
