/** `resource()`: a custom resource from its schemas. */

import { type AnyKind, apiVersionOf, deepEqual, type KubeObject, type ObjectMeta } from "@keelson/core";
import { compareApiVersions } from "@keelson/core/internal";
import { z } from "zod";
import { convertObject, shapeOf } from "./conversion.ts";
import { crdOf } from "./crd.ts";
import type { CustomResourceDefinitionObject } from "./crd-object.ts";
import { SchemaError } from "./errors.ts";
import { pluralOf } from "./names.ts";
import type {
  AnyConversion,
  Conversion,
  NoStatus,
  Resource,
  ResourceInput,
  ResourceNames,
  ResourceObject,
  SpecSchema,
  VersionDefinition,
  VersionObject,
} from "./resource.ts";
import { checkRules } from "./rules.ts";

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

/** What `resource()` makes of a definition: of its only version, or of the one that is stored. */
type Defined<
  G extends string,
  K extends string,
  N extends string,
  Spec extends z.ZodType,
  Status extends z.ZodType,
  V,
  St,
> = [V] extends [never]
  ? Resource<ResourceInput<Spec>, G, K, ResourceObject<Spec, Status>, N>
  : St extends keyof V & string
    ? Resource<ResourceInput<SpecSchema<V[St]>>, G, K, VersionObject<V[St]>, St>
    : never;

/**
 * A resource of one version (`version`, `spec`, `status`) or of several (`versions`, `storage`, `conversions`). One
 * signature stands for both: with two, the compiler would report a mistake in one as a mismatch with the other.
 */
export function resource<
  const G extends string,
  const K extends string,
  const N extends string = string,
  Spec extends z.ZodType = z.ZodType,
  Status extends z.ZodType = NoStatus,
  const V extends Versions = never,
  const St extends keyof V & string = never,
>(
  definition:
    | (SingleDefinition<G, K, N, Spec, Status> & { readonly versions?: never })
    | VersionedDefinition<G, K, V, St>,
): Defined<G, K, N, Spec, Status, V, St>;
export function resource(definition: AnyDefinition): Resource {
  const { versions, storage } = normalise(definition);
  const names: ResourceNames<string, string> = pickNames(definition);
  checkNames(names, versions, storage);
  const conversions = definition.conversions ?? {};
  const source = { names, versions, storage, conversions: Object.keys(conversions) };
  // Made at once: what has no structural form is refused where it is written.
  const crd = crdOf(source);
  checkConversions(names.kind, crd, storage, conversions);
  checkRules(crd.spec.versions);
  const made: Resource = {
    group: names.group,
    version: storage,
    kind: names.kind,
    resource: names.plural ?? pluralOf(names.kind),
    scope: names.scope ?? "Namespaced",
    names,
    versions,
    conversions,
    crd: (options) => (options?.conversion ? crdOf(source, options.conversion) : structuredClone(crd)),
    object: (input) => ({ apiVersion: apiVersionOf(made), kind: names.kind, ...input }),
    parse: (input) => parseObject(made, input),
    convert: (object, version) => convertObject(made, object, version),
    at: (version) => kindAt(made, version),
  };
  return Object.freeze(made);
}

type AnyDefinition = ResourceNames<string, string> &
  Partial<VersionDefinition> & {
    version?: string;
    versions?: Versions;
    storage?: string;
    conversions?: Readonly<Record<string, AnyConversion>>;
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

/** Without a conversion the server changes an object's apiVersion and nothing else: what the other lacks would be lost. */
function checkConversions(
  kind: string,
  crd: CustomResourceDefinitionObject,
  storage: string,
  conversions: Readonly<Record<string, AnyConversion>>,
): void {
  const { versions } = crd.spec;
  const shape = (name: string) => {
    const schema = versions.find((version) => version.name === name)?.schema.openAPIV3Schema;
    return [shapeOf(schema?.properties?.["spec"] ?? {}), shapeOf(schema?.properties?.["status"] ?? {})];
  };
  for (const { name } of versions) {
    if (name === storage || name in conversions || deepEqual(shape(name) as never, shape(storage) as never))
      continue;
    throw new SchemaError(
      "BadVersions",
      kind,
      `versions ${name} and ${storage} differ in shape and nothing converts between them; give conversions: ` +
        `{ ${name}: { toStored, fromStored } }`,
    );
  }
  for (const name of Object.keys(conversions)) {
    if (name !== storage && versions.some((version) => version.name === name)) continue;
    throw new SchemaError(
      "BadVersions",
      kind,
      name === storage
        ? `the stored version ${name} needs no conversion; remove conversions.${name}`
        : `conversions.${name} is for a version that is not there`,
    );
  }
}

function kindAt(resource: Resource, version: string): AnyKind {
  if (!resource.versions[version]) {
    throw new SchemaError(
      "UnknownVersion",
      resource.kind,
      `there is no version "${version}"; there are ${Object.keys(resource.versions).sort(compareApiVersions).join(", ")}`,
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
