/** Resources as values. */
export { answerConversionReview, type ConversionReview, type Convertible } from "./conversion.ts";
export type {
  ConversionEndpoint,
  CrdVersion,
  CustomResourceDefinitionObject,
  ScaleDefinition,
  StructuralSchema,
  ValidationRule,
} from "./crd-object.ts";
export { resource } from "./define.ts";
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
  AnyConversion,
  Column,
  Conversion,
  Converted,
  CrdOptions,
  InventoryEntry,
  Resource,
  ResourceInput,
  ResourceNames,
  ResourceObject,
  RuntimeStatus,
  StepRecord,
  VersionDefinition,
  VersionObject,
} from "./resource.ts";
