/** Resources as values. */
export { type Conversion, resource, type VersionObject } from "./define.ts";
export { SchemaError, type SchemaErrorCode } from "./errors.ts";
export {
  atomic,
  type CelOptions,
  cel,
  duration,
  embedded,
  immutable,
  intOrString,
  listMap,
  preserveUnknown,
  quantity,
  set,
} from "./fields.ts";
export type {
  Column,
  CrdVersion,
  CustomResourceDefinitionObject,
  InventoryEntry,
  Resource,
  ResourceInput,
  ResourceNames,
  ResourceObject,
  RuntimeStatus,
  ScaleDefinition,
  StepRecord,
  StructuralSchema,
  ValidationRule,
  VersionDefinition,
} from "./resource.ts";
