/** Resources as values: the contract of `resource()`. */
import type { AnyKind, Condition, Kind, KubeObject, ObjectMeta, Scope } from "@keelson/core";
import type { z } from "zod";
import type { ConversionEndpoint, CustomResourceDefinitionObject, ScaleDefinition } from "./crd-object.ts";

/** What the runtime keeps in every status, beside what the author declares. */
export interface RuntimeStatus {
  /** The generation that the conditions speak of. */
  observedGeneration?: number;
  conditions?: Condition[];
  /** Children the controller made, so that a later release finds what an earlier one left behind. */
  inventory?: InventoryEntry[];
  /** Durable steps under way; empty when the object is at rest. */
  steps?: StepRecord[];
}

/** A child that the runtime made and must remove when it is no longer wanted. */
export interface InventoryEntry {
  /** The slot of the controller's `owns`. */
  slot: string;
  /** The key within a slot that holds many. */
  key?: string;
  group?: string;
  kind: string;
  name: string;
  uid: string;
}

/** What is recorded of a durable step in the status. */
export interface StepRecord {
  id: string;
  /** Unique to this step of this object; stays the same over attempts. */
  idempotencyKey: string;
  startedAt: string;
  finishedAt?: string;
  /** What the step returned, as JSON. */
  result?: string;
}

export type NoStatus = z.ZodObject<Record<never, never>>;
export type SpecSchema<D> = D extends { spec: infer S extends z.ZodType } ? S : z.ZodType;
export type StatusSchema<D> = D extends { status: infer S extends z.ZodType } ? S : NoStatus;

/** The object as a user may write it: defaults left out. */
export interface ResourceInput<Spec extends z.ZodType> extends KubeObject {
  spec: z.input<Spec>;
}

/** The object as the server returns it: defaults filled in. */
export interface ResourceObject<Spec extends z.ZodType, Status extends z.ZodType> extends KubeObject {
  spec: z.output<Spec>;
  status?: z.output<Status> & RuntimeStatus;
}

/** An object of a version, as a conversion function sees it: defaults filled in. */
export type VersionObject<D> = ResourceObject<SpecSchema<D>, StatusSchema<D>>;

/** What a conversion gives. Name, namespace and the rest of the metadata stay as they are. */
export interface Converted<D> {
  spec: z.output<SpecSchema<D>>;
  /** The author's part; conditions and the rest of what the runtime keeps there are carried over. */
  status?: z.output<StatusSchema<D>>;
  /** Replaces the annotations: a place for what the other version has no field for. Default: as they are. */
  annotations?: Readonly<Record<string, string>>;
}

/** Conversions between one version and the stored one. They must lose nothing: see `checkRoundTrip` of the testing package. */
export interface Conversion<From, Stored> {
  toStored(object: VersionObject<From>): Converted<Stored>;
  fromStored(object: VersionObject<Stored>): Converted<From>;
}

/** A conversion whose types were checked where it was written. */
export interface AnyConversion {
  toStored(object: never): Converted<unknown>;
  fromStored(object: never): Converted<unknown>;
}

/** A printer column: a JSONPath, or one with its type and a hint for `-o wide`. */
export type Column =
  | string
  | {
      readonly path: string;
      readonly type?: "string" | "integer" | "number" | "boolean" | "date";
      readonly format?: string;
      readonly description?: string;
      /** Shown only with `-o wide`. */
      readonly wide?: boolean;
    };

/** What may differ from version to version. */
export interface VersionDefinition<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  readonly spec: Spec;
  /** The author's part; conditions and the rest of `RuntimeStatus` are added. */
  readonly status?: Status;
  /** Columns of `kubectl get`, in order. Ready, its reason and the age follow by themselves. */
  readonly columns?: Readonly<Record<string, Column>>;
  /** JSONPaths that field selectors may use. */
  readonly selectable?: readonly string[];
  readonly scale?: ScaleDefinition;
  /** False keeps the version stored but out of the API. */
  readonly served?: boolean;
  /** Marks the version deprecated; a string is the warning that clients see. */
  readonly deprecated?: boolean | string;
  readonly description?: string;
}

/** What all versions of a resource share. */
export interface ResourceNames<G extends string, K extends string> {
  readonly group: G;
  readonly kind: K;
  /** Default: guessed from the kind. */
  readonly plural?: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope?: Scope;
}

/** A custom resource: a kind, its schemas, and the CRD that follows from them. */
export interface Resource<
  T extends KubeObject = KubeObject,
  G extends string = string,
  K extends string = string,
  S extends KubeObject = T,
  V extends string = string,
> extends Kind<T, G, K, S> {
  readonly version: V;
  readonly names: ResourceNames<G, K>;
  /** Every version by name; the stored one is this value itself. */
  readonly versions: Readonly<Record<string, VersionDefinition>>;
  /** Conversions to and from the stored version, by version. */
  readonly conversions: Readonly<Record<string, AnyConversion>>;
  /**
   * The CustomResourceDefinition, as plain JSON. Of a resource with conversions it serves the stored version only,
   * until it is told where the webhook is that converts the others.
   */
  crd(options?: CrdOptions): CustomResourceDefinitionObject;
  /** Builds an object with apiVersion and kind filled in, checked by type. */
  object(input: Omit<T, "apiVersion" | "kind" | "metadata"> & { metadata: ObjectMeta }): T & {
    apiVersion: string;
    kind: K;
  };
  /** Fills in defaults and checks the object as the API server would; throws with every issue. */
  parse(input: unknown): S;
  /** The object at another version, by the conversions. */
  convert(object: KubeObject, version: string): KubeObject;
  /** The kind at another version. */
  at(version: string): AnyKind;
}

/** What a CRD is generated with. */
export interface CrdOptions {
  readonly conversion?: ConversionEndpoint;
}
