/** `metadata.managedFields`: who owns what, read from an object and written back. */
import { goQuote } from "../go-quote.ts";
import { compareBytes } from "../json.ts";
import type { JsonObject, ManagedFieldsEntry, Time } from "../object.ts";
import { parseTime } from "../time.ts";
import { MergeError } from "./errors.ts";
import { FieldSet } from "./field-set.ts";
import { scalarText } from "./path.ts";

/** What one manager owns. Immutable. */
export interface Ownership {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly subresource: string;
  /** The version in which the fields are to be read. */
  readonly apiVersion: string;
  readonly fields: FieldSet;
  /** Absent on what was shared without changing the object. */
  readonly time?: Time;
}

/** Ownership by {@link managerId}. */
export type Owners = Map<string, Ownership>;

/** A field manager: its name, operation, version and subresource. */
export type ManagerIdentity = Pick<Ownership, "manager" | "operation" | "subresource" | "apiVersion">;

/**
 * What keeps entries apart. Appliers are the same whatever version they apply; updaters are one per
 * version. The text is the API server's own, because it sorts by it.
 */
export function managerId({ manager, operation, subresource, apiVersion }: ManagerIdentity): string {
  let text = manager === "" ? "{" : `{"manager":${scalarText(manager)},`;
  text += `"operation":"${operation}"`;
  if (operation === "Update") text += `,"apiVersion":${scalarText(apiVersion)}`;
  if (subresource !== "") text += `,"subresource":${scalarText(subresource)}`;
  return `${text}}`;
}

/** A manager as conflict messages name it. */
export function displayManager({ manager, operation, subresource, apiVersion }: ManagerIdentity): string {
  let text = goQuote(manager);
  if (subresource !== "") text += ` with subresource ${goQuote(subresource)}`;
  return operation === "Update" ? `${text} using ${apiVersion}` : text;
}

/** Throws a {@link MergeError} with the API server's message when an entry cannot be read. */
export function decodeManagedFields(entries: readonly ManagedFieldsEntry[] | null | undefined): Owners {
  const owners: Owners = new Map();
  (entries ?? []).forEach((entry, i) => {
    const { operation, apiVersion } = entry;
    if (operation !== "Apply" && operation !== "Update") fail("operation must be `Apply` or `Update`");
    if (!apiVersion) fail("apiVersion must not be empty");
    if (!entry.fieldsType) fail(`missing fieldsType in managed fields entry ${i}`);
    if (entry.fieldsType !== "FieldsV1") {
      fail(`invalid fieldsType ${goQuote(entry.fieldsType)} in managed fields entry ${i}`);
    }
    const ownership: Ownership = {
      manager: entry.manager ?? "",
      operation,
      subresource: entry.subresource ?? "",
      apiVersion,
      fields: entry.fieldsV1 ? FieldSet.fromJson(entry.fieldsV1) : FieldSet.empty,
      ...(entry.time ? { time: entry.time } : {}),
    };
    owners.set(managerId(ownership), ownership);
  });
  return owners;
}

function fail(message: string): never {
  throw new MergeError("BadManagedFields", message);
}

/** Entries in the API server's order: appliers first, then by time, manager, version and subresource. */
export function encodeManagedFields(owners: Owners): ManagedFieldsEntry[] {
  const all = [...owners.values()];
  if (all.length > 1) all.sort(compareOwnership);
  return all.map(encodeEntry);
}

function seconds(time: Time | undefined): number {
  return time === undefined ? 0 : Math.floor(parseTime(time) / 1000);
}

function compareOwnership(a: Ownership, b: Ownership): number {
  if (a.operation !== b.operation) return a.operation === "Apply" ? -1 : 1;
  if (a.time !== b.time) {
    const order = seconds(a.time) - seconds(b.time);
    if (order !== 0) return order;
  }
  return (
    compareBytes(a.manager, b.manager) ||
    compareBytes(a.apiVersion, b.apiVersion) ||
    compareBytes(a.subresource, b.subresource)
  );
}

function encodeEntry(ownership: Ownership): ManagedFieldsEntry {
  const { manager, operation, apiVersion, time, fields, subresource } = ownership;
  const entry: { -readonly [Key in keyof ManagedFieldsEntry]?: ManagedFieldsEntry[Key] } = {};
  if (manager !== "") entry.manager = manager;
  entry.operation = operation;
  entry.apiVersion = apiVersion;
  if (time !== undefined) entry.time = time;
  entry.fieldsType = "FieldsV1";
  entry.fieldsV1 = fields.toJson();
  if (subresource !== "") entry.subresource = subresource;
  return entry as ManagedFieldsEntry;
}

/** Whether a writer asks to forget all ownership: an empty list, or a list of one empty entry. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  if (entries.length === 0) return true;
  const only: unknown = entries[0];
  return (
    entries.length === 1 &&
    typeof only === "object" &&
    only !== null &&
    Object.values(only).every((value) => value === undefined || value === null || value === "")
  );
}

/** How many updaters keep an entry of their own. */
export const maxUpdaters = 10;

/** Folds the oldest updaters into one entry per version until at most {@link maxUpdaters} are left. */
export function capUpdaters(owners: Owners, max: number = maxUpdaters): void {
  if (owners.size <= max) return;
  const updaters = [...owners].filter(([, ownership]) => ownership.operation === "Update");
  if (updaters.length <= max) return;
  updaters.sort(([idA, a], [idB, b]) => seconds(a.time) - seconds(b.time) || compareBytes(idA, idB));
  const firstOf = new Map<string, string>();
  let left = updaters.length;
  for (const [id, ownership] of updaters) {
    if (left <= max) return;
    const { apiVersion } = ownership;
    const first = firstOf.get(apiVersion);
    if (first === undefined) {
      firstOf.set(apiVersion, id);
      continue;
    }
    const bucket: ManagerIdentity = {
      manager: "ancient-changes",
      operation: "Update",
      subresource: "",
      apiVersion,
    };
    const bucketId = managerId(bucket);
    let held = owners.get(bucketId)?.fields;
    if (held === undefined) {
      held = owners.get(first)?.fields ?? FieldSet.empty;
      owners.delete(first);
    }
    owners.delete(id);
    const { time } = ownership;
    owners.set(bucketId, {
      ...bucket,
      fields: ownership.fields.union(held),
      ...(time === undefined ? {} : { time }),
    });
    left--;
  }
}

/** What ownership never covers: the object's identity and what the API server alone writes. */
export const neverOwned: FieldSet = FieldSet.of(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ["f:metadata", "f:name"],
  ["f:metadata", "f:namespace"],
  ["f:metadata", "f:creationTimestamp"],
  ["f:metadata", "f:selfLink"],
  ["f:metadata", "f:uid"],
  ["f:metadata", "f:clusterName"],
  ["f:metadata", "f:generation"],
  ["f:metadata", "f:managedFields"],
  ["f:metadata", "f:resourceVersion"],
);

export function managedFieldsOf(object: JsonObject | undefined): ManagedFieldsEntry[] | undefined {
  const metadata = object?.metadata as { managedFields?: ManagedFieldsEntry[] } | undefined;
  return metadata?.managedFields ?? undefined;
}

/** The object with other ownership entries; the field goes when there are none. Shares everything else. */
export function withManagedFields(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  const metadata = (object.metadata ?? {}) as JsonObject;
  if (entries.length === 0 && metadata.managedFields === undefined) return object;
  const next: JsonObject = {};
  for (const key in metadata) if (key !== "managedFields") next[key] = metadata[key] as JsonObject;
  if (entries.length > 0) next.managedFields = entries as unknown as JsonObject[];
  return { ...object, metadata: next };
}
