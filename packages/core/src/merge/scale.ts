/** Ownership seen through the scale subresource: one field, `replicas`, under another name and version. */
import type { ManagedFieldsEntry } from "../object.ts";
import { FieldSet } from "./field-set.ts";
import { decodeManagedFields, encodeManagedFields, type Owners } from "./managed-fields.ts";
import type { Path } from "./path.ts";

/** Where the resource keeps its replicas, by version; undefined where that version has no scale. */
export type ReplicasPaths = ReadonlyMap<string, Path | undefined>;

const scaleVersion = "autoscaling/v1";
const scaleReplicas: Path = ["f:spec", "f:replicas"];

/** Who owns the replicas, as entries of the Scale object. */
export function scaleEntries(
  parent: readonly ManagedFieldsEntry[] | undefined,
  paths: ReplicasPaths,
): ManagedFieldsEntry[] {
  const out: Owners = new Map();
  for (const [id, ownership] of decodeManagedFields(parent)) {
    const path = paths.get(ownership.apiVersion);
    if (path === undefined || !ownership.fields.has(path)) continue;
    out.set(id, { ...ownership, apiVersion: scaleVersion, fields: FieldSet.of(scaleReplicas) });
  }
  return encodeManagedFields(out);
}

/**
 * The resource's entries after the Scale object was written: who owned the replicas and does not any
 * more loses that field, who came to own them gets it at `apiVersion`, the version of the request.
 *
 * Two oddities are the API server's: what was gained has no time, and an updater that goes on owning the
 * replicas gets an entry of its own for them, since its identity names the version.
 */
export function parentEntries(
  parent: readonly ManagedFieldsEntry[] | undefined,
  scale: readonly ManagedFieldsEntry[] | undefined,
  paths: ReplicasPaths,
  apiVersion: string,
): ManagedFieldsEntry[] {
  const scaleOwners = decodeManagedFields(scale);
  const out: Owners = new Map();
  for (const [id, ownership] of decodeManagedFields(parent)) {
    if (!paths.has(ownership.apiVersion)) continue;
    const path = paths.get(ownership.apiVersion);
    // Found by the same identity, the owner keeps its entry; whatever is left in `scaleOwners` is new.
    if (path === undefined || !ownership.fields.has(path) || scaleOwners.delete(id)) {
      out.set(id, ownership);
      continue;
    }
    const fields = ownership.fields.difference(FieldSet.of(path));
    if (!fields.isEmpty) out.set(id, { ...ownership, fields });
  }
  const path = paths.get(apiVersion);
  for (const [id, { time: _gone, ...ownership }] of scaleOwners) {
    if (path === undefined || !ownership.fields.has(scaleReplicas)) continue;
    out.set(id, { ...ownership, apiVersion, fields: FieldSet.of(path) });
  }
  return encodeManagedFields(out);
}
