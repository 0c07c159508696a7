/** Removes from an object what its manager no longer applies. */
import type { JsonObject } from "../object.ts";
import { FieldSet } from "./field-set.ts";
import type { Owners, Ownership } from "./managed-fields.ts";
import type { ManagedResource, Versions } from "./managed-resource.ts";
import type { TypeRef } from "./schema.ts";
import { withNamedFields } from "./schema-fields.ts";
import { fieldsOf } from "./typed-fields.ts";
import { removeFields } from "./typed-remove.ts";

/**
 * Removes what the manager applied last time, not this time, and nobody else owns.
 *
 * Done as the API server does it: take everything out that was applied last, put back what anyone owns
 * (version by version), then put back what nobody ever owned.
 */
export function prune(
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
