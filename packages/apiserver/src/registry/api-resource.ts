/** A resource as the verbs see it: its names, its versions, its storage, its rules. */
import type { JsonObject, JsonValue } from "@keelson/core";
import type { TypeRef } from "@keelson/core/internal/merge";
import type { FieldError } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { Printer } from "../contracts/printer.ts";
import type { Strategy, StrategyContext } from "../contracts/strategy.ts";
import type { Table } from "../storage/table.ts";
import type { DeleteOptions, Deletion } from "./deletion.ts";
import type { MetadataChecks } from "./metadata.ts";

export interface ApiResource {
  readonly group: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Served versions by name, preferred first. */
  readonly versions: ReadonlyMap<string, ApiVersion>;
  /** apiVersion of stored objects. */
  readonly storageVersion: string;
  /** Absent for what is answered without being stored: reviews, bindings. */
  readonly table: Table | undefined;
  readonly custom: boolean;
  /** A delete that is done answers with the object rather than a Status. */
  readonly returnsDeleted: boolean;
  /** Dependents cannot be orphaned or waited for. */
  readonly ungoverned: boolean;
  readonly metadataChecks: MetadataChecks;
  readonly strategy: Strategy;
  readonly type: ObjectType;
  /** Where the end of an object has rules of its own: namespaces, definitions. */
  readonly lifeCycle?: LifeCycle;
}

export interface LifeCycle {
  /** Whether an object without finalizers may go when an update emptied them. */
  mayGo?(object: ApiObject): boolean;
  /** What a delete does; `undefined` leaves it to the common rules. Checks preconditions itself. */
  deletion?(existing: ApiObject, options: DeleteOptions, nowMs: number): Deletion | undefined;
}

export interface ApiVersion {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly subresources: ReadonlyMap<string, Subresource>;
  readonly storageVersionHash?: string | undefined;
  /** Sent as a Warning with every answer. */
  readonly deprecation?: string | undefined;
  printer(): Printer | undefined;
}

export interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Discovery names group and version only when they are not the resource's own. */
  readonly foreign: boolean;
  readonly verbs: readonly string[];
}

/** Strict decoding's complaints: fields that are unknown or given twice. */
export type StrictErrors = string[];

/** How objects of a resource are read, completed, converted and judged, in each version. */
export interface ObjectType {
  /**
   * A fresh draft from a decoded body; `apiVersion` and `kind` are set. Unknown fields are dropped and named
   * in `strict`. Throws 400 when the body cannot be of this type.
   */
  decode(value: JsonValue, version: string, strict: StrictErrors): ApiObject;
  /** Why an object that was patched or applied to is not of this type, where that is not what `decode` says. */
  restoreFault?(value: JsonValue, version: string): string | undefined;
  /** Fills in defaults, in place. Of what was applied, nulls stay for the schema to judge. */
  default(draft: ApiObject, version: string, applied?: boolean): void;
  /** The object in a served version; the argument itself when nothing changes. */
  convert(object: ApiObject, version: string): ApiObject | Promise<ApiObject>;
  /**
   * The object in a version, served or not, with nothing filled in or dropped: what was owned in it is compared
   * there. Throws a `MergeError` when there is no such version; without the method, `convert` does.
   */
  convertBare?(object: ApiObject, version: string): ApiObject | Promise<ApiObject>;
  /** The object in the version that is stored; the argument itself when nothing changes. */
  toStorage(object: ApiObject): ApiObject | Promise<ApiObject>;
  /**
   * The object in the version in which strategy and schema judge it: the stored one for built-in kinds, the
   * request's for custom resources, whose versions each have a schema of their own.
   */
  toWorking(object: ApiObject, version: string): ApiObject | Promise<ApiObject>;
  /** Brings a draft in the working version to the form in which it will be read again, after its owners were noted. */
  settle?(draft: ApiObject): void;
  /** Empties the status of an object that is created. */
  resetStatus(draft: ApiObject): void;
  /** Takes everything from `old` but what a write to `/status` may change. */
  keepAllButStatus(draft: ApiObject, old: ApiObject): void;
  /** Schema validation beyond the strategy's: custom resources. `old` on update; `warn` of what is let pass. */
  validateSchema?(
    object: ApiObject,
    old: ApiObject | undefined,
    context: StrategyContext,
    warn: (text: string) => void,
  ): FieldError[];
  /** How values of the version merge: for patches and for server-side apply. */
  mergeType(version: string): TypeRef;
  /** Whether strategic merge patches are taken. */
  readonly strategicPatches: boolean;
  /** The schema as it is published; custom resources only. */
  schema?(version: string): unknown;
  /** The replica fields of `/scale`, if it has one. */
  scale?(version: string): ScaleAccess | undefined;
  /** Field selectors of this version: custom resources' selectableFields. */
  selectableFields?(version: string): Readonly<Record<string, (object: ApiObject) => string>>;
}

/** Reads and writes `autoscaling/v1 Scale` of an object. */
export interface ScaleAccess {
  read(object: ApiObject): { replicas: number; statusReplicas: number; selector: string };
  /** Throws when the object has no replica count to show. */
  assertReadable?(object: ApiObject): void;
  /** Sets spec replicas in a draft. */
  write(draft: ApiObject, replicas: number): void;
  /** Path of spec replicas for messages and ownership: `["spec", "replicas"]`. */
  readonly path: readonly string[];
}

export function apiVersionText(resource: { group: string }, version: string): string {
  return resource.group ? `${resource.group}/${version}` : version;
}

/** The version part of an object's apiVersion. */
export function versionOf(object: JsonObject): string {
  const apiVersion = String(object.apiVersion ?? "");
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

export function keyFor(resource: ApiResource, namespace: string, name: string): string {
  return resource.namespaced ? `${namespace}/${name}` : name;
}
