/** Settles ownership between two states of an object: who loses what changed, and who would not give it up. */
import type { JsonObject } from "../object.ts";
import type { FieldSet } from "./field-set.ts";
import type { ManagerIdentity, Owners, Ownership } from "./managed-fields.ts";
import type { ManagedResource, Versions } from "./managed-resource.ts";
import type { Path } from "./path.ts";
import { reconcileWithSchema } from "./schema-fields.ts";
import { type Comparison, compareTyped, noChange } from "./typed-compare.ts";

/** A field of the configuration that somebody else owns with another value. */
export interface ApplyConflict {
  readonly owner: ManagerIdentity;
  readonly path: Path;
}

/** Owners whose version still exists, with their fields read by today's schema. */
export function reconcile(versions: Versions, live: JsonObject, owners: Owners): Owners {
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
export function settle(
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
