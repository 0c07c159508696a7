/** Resources as values. */
export {
  type AnyConversion,
  answerConversionReview,
  type Conversion,
  type ConversionReview,
  type Converted,
  type Convertible,
  type VersionObject,
} from "./conversion.ts";
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
  Column,
  ConversionEndpoint,
  CrdOptions,
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
export { type SampleOptions, sampleObject } from "./sample.ts";
