/** The shapes in which the tables hand out what is known about built-in kinds. */
import type { JsonValue } from "@keelson/core";

/**
 * One schema, in the words of OpenAPI and of CRD schemas, so that one walker serves both.
 *
 * Two things differ from an OpenAPI document: `$ref` is the bare name of a definition, and what stands beside
 * it (`default`, `x-kubernetes-patch-strategy`, …) belongs to the field and counts. No `type` and no `$ref`
 * means any JSON value. Schemas are frozen and shared: one definition is parsed once.
 */
export interface Schema {
  readonly $ref?: string;
  readonly type?: "string" | "boolean" | "integer" | "number" | "object" | "array";
  /** `quantity` (string or number) and `int-or-string` come without a `type`; `byte` is base64. */
  readonly format?: "int32" | "int64" | "double" | "byte" | "date-time" | "int-or-string" | "quantity";
  readonly enum?: readonly string[];
  readonly description?: string;
  /** What OpenAPI says; nearly always the zero value of Go. The server's real defaulting is not in OpenAPI. */
  readonly default?: JsonValue;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  /** `merge`, `retainKeys` or both with a comma. */
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-unions"?: readonly Union[];
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKindEntry[];
}

export interface Union {
  readonly discriminator?: string;
  readonly "fields-to-discriminateBy": Readonly<Record<string, string>>;
}

export interface GroupVersionKindEntry {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Subresource {
  /** The last part of the path: `status`, `scale`, `log`. */
  readonly name: string;
  readonly kind: string;
  /** Group and version of `kind`; `scale` of apps is autoscaling/v1. */
  readonly group: string;
  readonly version: string;
  /** Discovery names group and version only when they are not the resource's own. */
  readonly foreign: boolean;
  readonly verbs: readonly string[];
}

export interface Resource {
  readonly group: string;
  readonly version: string;
  /** `v1` or `group/version`. */
  readonly groupVersion: string;
  /** Plural, as in the path. */
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** As discovery shows it; undefined for what is never stored (reviews, bindings, component statuses). */
  readonly storageVersionHash: string | undefined;
  /**
   * Group-version in which the real server stores objects. The same for several resources when they are views
   * of one object: core and events.k8s.io events, autoscaling v1 and v2.
   */
  readonly storageVersion: string;
  /** Name of the kind's definition. */
  readonly definition: string;
  /** DELETE answers with the deleted object, and not with a Status. */
  readonly deleteReturnsObject: boolean;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  /** `v1` or `group/version`. */
  readonly groupVersion: string;
  /** First of its group. */
  readonly preferred: boolean;
  /** groupPriorityMinimum of the APIService the server makes for it; undefined for apiregistration.k8s.io, which has none. */
  readonly groupPriority: number | undefined;
  readonly versionPriority: number | undefined;
  readonly resources: readonly Resource[];
}
