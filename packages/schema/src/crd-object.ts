/** A CustomResourceDefinition as plain JSON, and the structural schemas in it. */
import type { JsonValue, KubeObject, ObjectMeta, Scope } from "@keelson/core";

/** Paths of the scale subresource. */
export interface ScaleDefinition {
  /** JSONPath below `.spec`. */
  readonly specReplicasPath: string;
  /** JSONPath below `.status`. */
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** Where the API server finds the webhook that converts: a URL, or a service in the cluster. */
export interface ConversionEndpoint {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  /** PEM of the authority that signed the webhook's certificate, in base64. */
  readonly caBundle?: string;
}

/** A CustomResourceDefinition as {@link Resource.crd} makes it. */
export interface CustomResourceDefinitionObject extends KubeObject {
  apiVersion: "apiextensions.k8s.io/v1";
  kind: "CustomResourceDefinition";
  metadata: ObjectMeta & { name: string };
  spec: {
    group: string;
    scope: Scope;
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames?: string[];
      categories?: string[];
    };
    conversion?: {
      strategy: "None" | "Webhook";
      webhook?: {
        conversionReviewVersions: string[];
        clientConfig?: ConversionEndpoint;
      };
    };
    versions: CrdVersion[];
  };
}

/** One version of a CRD. */
export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema: { openAPIV3Schema: StructuralSchema };
  subresources?: { status?: Record<string, never>; scale?: ScaleDefinition };
  additionalPrinterColumns?: {
    name: string;
    type: string;
    jsonPath: string;
    format?: string;
    description?: string;
    priority?: number;
  }[];
  selectableFields?: { jsonPath: string }[];
}

/** A structural OpenAPI v3 schema, as a CRD carries it. */
export interface StructuralSchema {
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  description?: string;
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema | boolean;
  items?: StructuralSchema;
  required?: string[];
  default?: JsonValue;
  enum?: JsonValue[];
  nullable?: boolean;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  allOf?: StructuralSchema[];
  anyOf?: StructuralSchema[];
  oneOf?: StructuralSchema[];
  not?: StructuralSchema;
  "x-kubernetes-validations"?: ValidationRule[];
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
}

/** A CEL rule of a structural schema. */
export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: "FieldValueRequired" | "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueDuplicate";
  fieldPath?: string;
  optionalOldSelf?: boolean;
}
