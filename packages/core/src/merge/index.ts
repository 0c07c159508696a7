/**
 * Patches and server-side apply.
 *
 * ```ts
 * const type = typeFromStructuralSchema(crdVersion.schema.openAPIV3Schema);        // or typesFromOpenApi(...).typeOf(gvk)
 * const resource = { apiVersion: "example.com/v1", kind: "Widget", type };
 *
 * const applied = applyPatch({ resource, live, config, manager: "ctl", force: false, now });
 * if (applied.conflicts) respond(409, applied.message, applied.causes);
 * else store(applied.object);                                                     // then defaults, validation
 *
 * const next = applyUpdateOrClear({ resource, live, updated, manager: "kubectl-edit", now }); // create: no live
 * store(keepTimesIfUnchanged(live, next));
 * ```
 *
 * For built-in kinds pass `zero: zeroObject(type)`, so that a create is recorded as the API server records
 * it. What an apply empties is null in its result: decoding drops that for built-in kinds, and validation
 * refuses it for custom resources, as on the API server. Results share structure with their inputs and may
 * hold frozen parts: copy before changing them. Stored objects that are frozen deep down make every later
 * call faster, since what was learned about them stays true.
 */
export {
  type ApplyRequest,
  type ApplyResult,
  applyPatch,
  applyUpdate,
  applyUpdateOrClear,
  keepTimesIfUnchanged,
  type UpdateRequest,
} from "./apply.ts";
export { MergeError, type MergeErrorCode } from "./errors.ts";
export { FieldSet, FieldSetBuilder } from "./field-set.ts";
export { applyMergePatch } from "./json-merge-patch.ts";
export {
  applyJsonPatch,
  type JsonPatchOperation,
  maxJsonPatchOperations,
  parseJsonPatch,
} from "./json-patch.ts";
export {
  capUpdaters,
  decodeManagedFields,
  encodeManagedFields,
  type ManagerIdentity,
  managerId,
  maxUpdaters,
  type Owners,
  type Ownership,
} from "./managed-fields.ts";
export type { ManagedResource, Versioned } from "./managed-resource.ts";
export {
  definitionsOf,
  type OpenApiSchema,
  type TypeCatalog,
  typeFromStructuralSchema,
  typesFromOpenApi,
} from "./openapi-schema.ts";
export {
  displayPath,
  fieldElement,
  indexElement,
  keyElement,
  type Path,
  type PathElement,
  valueElement,
} from "./path.ts";
export { parentEntries, type ReplicasPaths, scaleEntries } from "./scale.ts";
export {
  type Atom,
  deduced,
  type Field,
  type ListType,
  listType,
  type MapType,
  mapType,
  objectMetaType,
  type Scalar,
  scalarType,
  structType,
  TypeRef,
  untypedAtomic,
  zeroObject,
} from "./schema.ts";
export { ownedFields, selectFields } from "./select-fields.ts";
export type { ApplyConflict } from "./settle.ts";
export { applyStrategicPatch } from "./strategic.ts";
export { type Comparison, compareTyped } from "./typed-compare.ts";
export { checkType, fieldsOf } from "./typed-fields.ts";
export { mergeTyped } from "./typed-merge.ts";
export { removeFields } from "./typed-remove.ts";
