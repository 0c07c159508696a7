/** `resource()`: a custom resource from its schemas. */
import { type AnyKind, apiVersionOf, type KubeObject, type ObjectMeta } from "@keelson/core";
import { z } from "zod";
import { crdOf } from "./crd.ts";
import { SchemaError } from "./errors.ts";
import { pluralOf, versionOrder } from "./names.ts";
import type {
  Resource,
  ResourceInput,
  ResourceNames,
  ResourceObject,
  VersionDefinition,
} from "./resource.ts";

type NoStatus = z.ZodObject<Record<never, never>>;

type StatusSchema<D> = D extends { status: infer S extends z.ZodType } ? S : NoStatus;
type SpecSchema<D> = D extends { spec: infer S extends z.ZodType } ? S : z.ZodType;

/** An object of a version, as a conversion function sees it. */
export type VersionObject<D> = ResourceObject<SpecSchema<D>, StatusSchema<D>>;

/** Conversions between one version and the stored one. They must lose nothing: see `checkRoundTrip`. */
export interface Conversion<From, Stored> {
  toStored(object: VersionObject<From>): Pick<VersionObject<Stored>, "spec" | "status">;
  fromStored(object: VersionObject<Stored>): Pick<VersionObject<From>, "spec" | "status">;
}

type Versions = Readonly<Record<string, VersionDefinition>>;

export interface VersionedDefinition<
  G extends string,
  K extends string,
  V extends Versions,
  St extends keyof V & string,
> extends ResourceNames<G, K> {
  readonly versions: V;
  /** The version that is stored and that the resource value stands for. */
  readonly storage: St;
  readonly conversions?: { readonly [N in Exclude<keyof V, St>]: Conversion<V[N], V[St]> };
}

export interface SingleDefinition<
  G extends string,
  K extends string,
  N extends string,
  Spec extends z.ZodType,
  Status extends z.ZodType,
> extends ResourceNames<G, K>,
    VersionDefinition<Spec, Status> {
  readonly version: N;
}

/** A resource with one version. */
export function resource<
  const G extends string,
  const K extends string,
  const N extends string,
  Spec extends z.ZodType,
  Status extends z.ZodType = NoStatus,
>(
  definition: SingleDefinition<G, K, N, Spec, Status>,
): Resource<ResourceInput<Spec>, G, K, ResourceObject<Spec, Status>, N>;
/** A resource with several versions. */
export function resource<
  const G extends string,
  const K extends string,
  const V extends Versions,
  const St extends keyof V & string,
>(
  definition: VersionedDefinition<G, K, V, St>,
): Resource<ResourceInput<SpecSchema<V[St]>>, G, K, VersionObject<V[St]>, St>;
export function resource(definition: AnyDefinition): Resource {
  const { versions, storage } = normalise(definition);
  const names: ResourceNames<string, string> = pickNames(definition);
  checkNames(names, versions, storage);
  const crd = crdOf({ names, versions, storage, conversions: definition.conversions !== undefined });
  const made: Resource = {
    group: names.group,
    version: storage,
    kind: names.kind,
    resource: names.plural ?? pluralOf(names.kind),
    scope: names.scope ?? "Namespaced",
    names,
    versions,
    conversions: definition.conversions ?? {},
    crd: () => structuredClone(crd),
    object: (input) => ({ apiVersion: apiVersionOf(made), kind: names.kind, ...input }),
    parse: (input) => parseObject(made, input),
    at: (version) => kindAt(made, version),
  };
  return Object.freeze(made);
}

type AnyDefinition = ResourceNames<string, string> &
  Partial<VersionDefinition> & {
    version?: string;
    versions?: Versions;
    storage?: string;
    conversions?: Readonly<Record<string, Conversion<never, never>>>;
  };

function normalise(definition: AnyDefinition): { versions: Versions; storage: string } {
  const { version, versions, storage, spec } = definition;
  if (versions && storage) return { versions, storage };
  if (!version || !spec) {
    throw new SchemaError(
      "BadVersions",
      definition.kind,
      "give a version with its spec, or versions and storage",
    );
  }
  const { status, columns, selectable, scale, served, deprecated, description } = definition;
  const only = { spec, status, columns, selectable, scale, served, deprecated, description };
  return { versions: { [version]: dropUndefined(only) as VersionDefinition }, storage: version };
}

function pickNames(definition: AnyDefinition): ResourceNames<string, string> {
  const { group, kind, plural, singular, shortNames, categories, scope } = definition;
  return dropUndefined({ group, kind, plural, singular, shortNames, categories, scope }) as ResourceNames<
    string,
    string
  >;
}

function dropUndefined<T extends object>(from: T): Partial<T> {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function checkNames(names: ResourceNames<string, string>, versions: Versions, storage: string): void {
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(names.group)) {
    throw new SchemaError(
      "BadNames",
      names.kind,
      `group "${names.group}" must be a domain such as cache.example.com`,
    );
  }
  if (!/^[A-Z][A-Za-z0-9]{0,62}$/.test(names.kind)) {
    throw new SchemaError("BadNames", names.kind, "a kind is an UpperCamelCase word");
  }
  if (!versions[storage]) {
    throw new SchemaError(
      "BadVersions",
      names.kind,
      `storage version "${storage}" is not among the versions`,
    );
  }
  for (const version of Object.keys(versions)) {
    if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(version)) {
      throw new SchemaError(
        "BadVersions",
        names.kind,
        `version "${version}" must be like v1, v1beta1, v1alpha1`,
      );
    }
  }
}

function kindAt(resource: Resource, version: string): AnyKind {
  if (!resource.versions[version]) {
    throw new SchemaError(
      "UnknownVersion",
      resource.kind,
      `there is no version "${version}"; there are ${Object.keys(resource.versions).sort(versionOrder).join(", ")}`,
    );
  }
  const { group, kind, resource: plural, scope } = resource;
  return Object.freeze({ group, version, kind, resource: plural, scope });
}

function parseObject(resource: Resource, input: unknown): KubeObject {
  const version = resource.versions[resource.version] as VersionDefinition;
  const object = z.looseObject({
    apiVersion: z.string().optional(),
    kind: z.string().optional(),
    metadata: z.custom<ObjectMeta>().optional(),
    spec: version.spec,
    ...(version.status ? { status: version.status.optional() } : {}),
  });
  const result = object.safeParse(input);
  if (result.success) return result.data as KubeObject;
  const issues = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new SchemaError("Invalid", resource.kind, issues.join("; "), { cause: result.error });
}
