/**
 * Server-side apply, and the bookkeeping of ownership for every other write.
 *
 * Pure: objects in, objects out; time is an argument. Inputs are never changed, and results share with
 * them whatever did not change.
 */
import { canonicalJson, deepEqual } from "../json.ts";
import { parseApiVersion } from "../kind.ts";
import { annotationsBytes, maxAnnotationsBytes } from "../names.ts";
import type { JsonObject, ManagedFieldsEntry, Time } from "../object.ts";
import type { StatusCause } from "../status.ts";
import { MergeError } from "./errors.ts";
import { FieldSet } from "./field-set.ts";
import {
  capUpdaters,
  decodeManagedFields,
  displayManager,
  encodeManagedFields,
  isReset,
  type ManagerIdentity,
  managedFieldsOf,
  managerId,
  neverOwned,
  type Owners,
  type Ownership,
  withManagedFields,
} from "./managed-fields.ts";
import { displayPath, escapeHtml, type Path } from "./path.ts";
import type { TypeRef } from "./schema.ts";
import { reconcileWithSchema, withNamedFields } from "./schema-fields.ts";
import type { ElementMemo } from "./typed.ts";
import { type Comparison, compareTyped, noChange } from "./typed-compare.ts";
import { checkedFieldsOf, checkType, fieldsOf } from "./typed-fields.ts";
import { type MergeNotes, mergeTypedNoting } from "./typed-merge.ts";
import { removeFields } from "./typed-remove.ts";

/** An object read at one version. */
export interface Versioned {
  readonly object: JsonObject;
  readonly type: TypeRef;
}

/** What applying needs to know about the resource that is written, at the version of the request. */
export interface ManagedResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeRef;
  /** `status`, `scale`, …: ownership is kept apart, and entries in the request are ignored. */
  readonly subresource?: string;
  /** Fields that this endpoint resets, by version: never owned through it. */
  readonly resetFields?: ReadonlyMap<string, FieldSet>;
  /**
   * The object at another version; undefined when that version is gone, and with it what was owned in it.
   * Left out for a resource with one version.
   */
  readonly convert?: (object: JsonObject, apiVersion: string) => Versioned | undefined;
  /** What a new object is before its first write; `{apiVersion, kind}` unless given. See `zeroObject`. */
  readonly zero?: JsonObject;
}

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

export interface ApplyRequest {
  readonly resource: ManagedResource;
  readonly live?: JsonObject;
  /** The applied configuration. */
  readonly config: JsonObject;
  readonly manager: string;
  readonly force?: boolean;
  readonly now: Time;
}

/** A field of the configuration that somebody else owns with another value. */
export interface ApplyConflict {
  readonly owner: ManagerIdentity;
  readonly path: Path;
}

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
  const recorded = recordUpdate(resource, bareLive(resource, live), bare, owners, manager, now);
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
  if (result.conflicts !== undefined) return describeConflicts(result.conflicts);
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

/** Converts between versions, each at most once per object. */
class Versions {
  readonly #resource: ManagedResource;
  readonly #known = new Map<JsonObject, Map<string, Versioned | undefined>>();

  constructor(resource: ManagedResource) {
    this.#resource = resource;
  }

  at(object: JsonObject, apiVersion: string): Versioned | undefined {
    const resource = this.#resource;
    if ((object.apiVersion ?? resource.apiVersion) === apiVersion && apiVersion === resource.apiVersion) {
      return { object, type: resource.type };
    }
    let versions = this.#known.get(object);
    if (versions === undefined) {
      versions = new Map();
      this.#known.set(object, versions);
    }
    if (!versions.has(apiVersion)) versions.set(apiVersion, this.#convert(object, apiVersion));
    return versions.get(apiVersion);
  }

  #convert(object: JsonObject, apiVersion: string): Versioned | undefined {
    const converted = this.#resource.convert?.(object, apiVersion);
    // What was converted may hold no duplicates, though what is stored may.
    if (converted !== undefined) checkType(converted.object, converted.type, { allowDuplicates: false });
    return converted;
  }
}

/** Owners whose version still exists, with their fields read by today's schema. */
function reconcile(versions: Versions, live: JsonObject, owners: Owners): Owners {
  const out: Owners = new Map();
  for (const [id, ownership] of owners) {
    const at = versions.at(live, ownership.apiVersion);
    if (at === undefined) continue;
    const fields = reconcileWithSchema(ownership.fields, at.type);
    out.set(id, fields === ownership.fields ? ownership : { ...ownership, fields });
  }
  return out;
}

function ignoring(comparison: Comparison, ignored: FieldSet | undefined): Comparison {
  if (ignored === undefined || ignored.isEmpty) return comparison;
  return {
    removed: comparison.removed.recursiveDifference(ignored),
    modified: comparison.modified.recursiveDifference(ignored),
    added: comparison.added.recursiveDifference(ignored),
  };
}

interface Settled {
  readonly owners: Owners;
  readonly comparison: Comparison;
}

/**
 * Takes from everybody but `self` what changed between the two objects. Without force, owners of what
 * changed are reported instead.
 */
function settle(
  resource: ManagedResource,
  versions: Versions,
  before: JsonObject,
  after: JsonObject,
  owners: Owners,
  self: string,
  force: boolean,
): Settled | { readonly conflicts: ApplyConflict[] } {
  const own = compareTyped(before, after, resource.type);
  const comparisons = new Map<string, Comparison>();
  comparisons.set(resource.apiVersion, ignoring(own, resource.resetFields?.get(resource.apiVersion)));
  const conflicting = new Map<string, FieldSet>();
  const out: Owners = new Map(owners);
  for (const [id, ownership] of owners) {
    if (id === self) continue;
    let comparison = comparisons.get(ownership.apiVersion);
    if (comparison === undefined) {
      const left = versions.at(before, ownership.apiVersion);
      const right = left === undefined ? undefined : versions.at(after, ownership.apiVersion);
      if (left === undefined || right === undefined) {
        out.delete(id);
        continue;
      }
      comparison = before === after ? noChange : compareTyped(left.object, right.object, left.type);
      comparison = ignoring(comparison, resource.resetFields?.get(ownership.apiVersion));
      comparisons.set(ownership.apiVersion, comparison);
    }
    const conflict = ownership.fields.intersection(comparison.modified.union(comparison.added));
    if (!conflict.isEmpty) conflicting.set(id, conflict);
    const fields = ownership.fields.difference(conflict).difference(comparison.removed);
    if (fields.isEmpty) out.delete(id);
    else if (fields !== ownership.fields) out.set(id, { ...ownership, fields });
  }
  if (!force && conflicting.size > 0) return { conflicts: listConflicts(owners, conflicting) };
  return { owners: out, comparison: comparisons.get(resource.apiVersion) as Comparison };
}

function listConflicts(owners: Owners, conflicting: ReadonlyMap<string, FieldSet>): ApplyConflict[] {
  const out: ApplyConflict[] = [];
  for (const id of [...conflicting.keys()].sort()) {
    const owner = owners.get(id) as Ownership;
    for (const path of (conflicting.get(id) as FieldSet).paths()) out.push({ owner, path });
  }
  return out;
}

function recordUpdate(
  resource: ManagedResource,
  live: JsonObject,
  updated: JsonObject,
  given: Owners,
  manager: string,
  now: Time,
): Owners {
  checkStored(updated, resource.type, "failed to convert new object");
  checkStored(live, resource.type, "failed to convert live object");
  const versions = new Versions(resource);
  const settled = settle(resource, versions, live, updated, reconcile(versions, live, given), "", true);
  if ("conflicts" in settled) throw new Error("an update cannot conflict");
  const { owners, comparison } = settled;
  let fields = comparison.modified.union(comparison.added);
  const ignored = resource.resetFields?.get(resource.apiVersion);
  if (ignored !== undefined) fields = fields.recursiveDifference(ignored);
  fields = fields.difference(neverOwned);
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

type Attempt =
  | { readonly object: JsonObject; readonly owners: Owners; readonly conflicts?: undefined }
  | { readonly conflicts: readonly ApplyConflict[] };

function attempt(request: ApplyRequest, live: JsonObject, given: Owners, force: boolean): Attempt {
  const { resource, config, now } = request;
  const memo: ElementMemo = new Map();
  let fields = explain(config, "failed to create typed patch object", () =>
    checkedFieldsOf(config, resource.type, memo),
  );
  checkStored(live, resource.type, "failed to create typed live object");
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

/**
 * Removes what the manager applied last time, not this time, and nobody else owns.
 *
 * Done as the API server does it: take everything out that was applied last, put back what anyone owns
 * (version by version), then put back what nobody ever owned.
 */
function prune(
  resource: ManagedResource,
  versions: Versions,
  merged: JsonObject,
  owners: Owners,
  last: Ownership | undefined,
): JsonObject {
  if (last === undefined || last.fields.isEmpty) return merged;
  const start = versions.at(merged, last.apiVersion);
  if (start === undefined) return merged;

  const lastNamed = withNamedFields(last.fields, start.type);
  const named = new NamedFields();
  let pruned = removeFields(start.object, lastNamed, start.type) as JsonObject | null;
  pruned = addBackOwned(versions, named, start.object, pruned ?? {}, last.apiVersion, owners);

  const prunedAtLast = versions.at(pruned, last.apiVersion);
  if (prunedAtLast === undefined) return merged;
  const before = named.of(start.object, start.type);
  const after = named.of(prunedAtLast.object, start.type);
  const gone = before.difference(after).intersection(lastNamed);
  const result = removeFields(start.object, gone, start.type) as JsonObject;
  return versions.at(result, resource.apiVersion)?.object ?? result;
}

/** The fields of objects with their named parents, each object walked once. */
class NamedFields {
  readonly #known = new Map<JsonObject, FieldSet>();

  of(object: JsonObject, type: TypeRef): FieldSet {
    let fields = this.#known.get(object);
    if (fields === undefined) {
      fields = withNamedFields(fieldsOf(object, type), type);
      this.#known.set(object, fields);
    }
    return fields;
  }
}

function addBackOwned(
  versions: Versions,
  named: NamedFields,
  merged: JsonObject,
  pruned: JsonObject,
  firstVersion: string,
  owners: Owners,
): JsonObject {
  const owned = new Map<string, FieldSet>();
  for (const { apiVersion, fields } of owners.values()) {
    owned.set(apiVersion, (owned.get(apiVersion) ?? FieldSet.empty).union(fields));
  }
  const order = [...owned.keys()].sort();
  if (owned.has(firstVersion)) {
    order.splice(order.indexOf(firstVersion), 1);
    order.unshift(firstVersion);
  }
  for (const version of order) {
    const from = versions.at(merged, version);
    const to = versions.at(pruned, version);
    if (from === undefined || to === undefined) continue;
    const { type } = from;
    const keep = named.of(to.object, type).union(withNamedFields(owned.get(version) as FieldSet, type));
    const gone = named.of(from.object, type).difference(keep);
    pruned = (removeFields(from.object, gone, type) ?? {}) as JsonObject;
    merged = from.object;
  }
  return pruned;
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

function describeConflicts(conflicts: readonly ApplyConflict[]): ApplyResult {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${displayManager(owner)}`,
    field: displayPath(path),
  }));
  if (conflicts.length === 1) {
    const only = causes[0] as StatusCause;
    return { conflicts, causes, message: `Apply failed with 1 conflict: ${only.message}: ${only.field}` };
  }
  const lines: string[] = [];
  let current = "";
  for (const { owner, path } of conflicts) {
    const heading = `conflicts with ${displayManager(owner)}:`;
    const id = managerId(owner);
    if (id !== current) lines.push(heading);
    current = id;
    lines.push(`- ${displayPath(path)}`);
  }
  return {
    conflicts,
    causes,
    message: `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`,
  };
}

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

function annotationsOf(object: JsonObject): Record<string, string> | undefined {
  return (object.metadata as { annotations?: Record<string, string> } | undefined)?.annotations ?? undefined;
}

/**
 * The conflicts that stay when kubectl takes over what it applied from the client's side before: fields
 * of the last applied configuration that the live object still has. Undefined when there is none to read.
 */
function conflictsAfterLastApplied(
  resource: ManagedResource,
  live: JsonObject,
  conflicts: readonly ApplyConflict[],
): ApplyConflict[] | undefined {
  const text = annotationsOf(live)?.[lastAppliedAnnotation];
  if (!text) return undefined;
  let allowed: FieldSet;
  try {
    const config = JSON.parse(text) as JsonObject;
    if (config.apiVersion !== resource.apiVersion) return undefined;
    checkType(config, resource.type, { allowDuplicates: false });
    checkType(live, resource.type, { allowDuplicates: false });
    const { modified, added, removed } = compareTyped(config, live, resource.type);
    allowed = fieldsOf(config, resource.type).difference(modified).difference(added).difference(removed);
  } catch (error) {
    if (error instanceof MergeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
  return conflicts.filter(({ path }) => !allowed.has(path));
}

/** Keeps the client-side annotation in step, where there is one, so that an older kubectl still works. */
function syncLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (!annotations?.[lastAppliedAnnotation]) return object;
  const metadata = { ...(config.metadata as JsonObject | undefined) };
  const applied = { ...annotationsOf(config) };
  delete applied[lastAppliedAnnotation];
  if (Object.keys(applied).length > 0) metadata.annotations = applied;
  else delete metadata.annotations;
  const next: Record<string, string> = {
    ...annotations,
    [lastAppliedAnnotation]: `${escapeHtml(canonicalJson({ ...config, metadata }))}\n`,
  };
  if (annotationsBytes(next) > maxAnnotationsBytes) delete next[lastAppliedAnnotation];
  return { ...object, metadata: { ...(object.metadata as JsonObject), annotations: next } };
}
