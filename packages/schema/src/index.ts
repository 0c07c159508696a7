/** Resources as values. */
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
