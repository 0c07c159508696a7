/** Types from OpenAPI definitions (v2 or v3) and from the structural schemas of custom resources. */
import type { GroupVersionKind } from "../kind.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import {
  type Atom,
  deduced,
  type Field,
  type ListType,
  type MapType,
  objectMetaType,
  scalarType,
  TypeRef,
  untypedAtomic,
} from "./schema.ts";

/** A schema as it stands in OpenAPI or in a custom resource definition. Only what we read is named. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | OpenApiSchema;
  readonly items?: OpenApiSchema | readonly OpenApiSchema[];
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** The types of a document of definitions, made as they are asked for. */
export interface TypeCatalog {
  /** By the definition's name, as `io.k8s.api.apps.v1.Deployment`. */
  type(name: string): TypeRef | undefined;
  typeOf(kind: GroupVersionKind): TypeRef | undefined;
}

const quantityName = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const rawExtensionName = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/** Resolves references and carries what is inherited on the way down. */
interface Scope {
  readonly resolve: (name: string) => TypeRef | undefined;
  readonly preserveUnknown: boolean;
  readonly embedded: boolean;
}

/** `definitions` of OpenAPI v2, `components.schemas` of v3, or several of these laid together. */
export function typesFromOpenApi(definitions: Readonly<Record<string, OpenApiSchema>>): TypeCatalog {
  const types = new Map<string, TypeRef>();
  const kinds = new Map<string, string>();
  let indexed = false;

  const resolve = (name: string): TypeRef | undefined => {
    const known = types.get(name);
    if (known !== undefined) return known;
    const schema = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
    if (schema === undefined) return undefined;
    const scope: Scope = { resolve, preserveUnknown: false, embedded: false };
    const type = new TypeRef(() => definitionAtom(name, schema, scope), name);
    types.set(name, type);
    return type;
  };

  const index = () => {
    indexed = true;
    for (const [name, schema] of Object.entries(definitions)) {
      const list = schema["x-kubernetes-group-version-kind"];
      if (!Array.isArray(list)) continue;
      for (const gvk of list as GroupVersionKind[]) kinds.set(kindKey(gvk), name);
    }
  };

  return {
    type: resolve,
    typeOf(kind) {
      if (!indexed) index();
      const name = kinds.get(kindKey(kind));
      return name === undefined ? undefined : resolve(name);
    },
  };
}

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

function definitionAtom(name: string, schema: OpenApiSchema, scope: Scope): Atom {
  if (name === quantityName) return { scalar: "untyped" };
  if (name === rawExtensionName) return untypedAtomic.atom;
  return atomOf(schema, scope);
}

/**
 * The type of a custom resource from its structural schema. Without a schema everything is deduced.
 * `metadata` is always that of {@link objectMetaType}, whatever the schema says of it.
 */
export function typeFromStructuralSchema(
  schema: OpenApiSchema | undefined,
  options: { readonly preserveUnknownFields?: boolean } = {},
): TypeRef {
  if (schema === undefined) return new TypeRef(() => atomOf({ type: "object" }, openScope));
  const scope: Scope = {
    resolve: () => undefined,
    preserveUnknown: options.preserveUnknownFields === true,
    embedded: true,
  };
  return new TypeRef(() => atomOf({ ...schema, "x-kubernetes-embedded-resource": true }, scope));
}

const openScope: Scope = { resolve: () => undefined, preserveUnknown: false, embedded: false };

function refName(schema: OpenApiSchema): string | undefined {
  const only = schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined;
  const ref = schema.$ref ?? only;
  return ref === undefined ? undefined : ref.slice(ref.lastIndexOf("/") + 1);
}

function typeRef(schema: OpenApiSchema, scope: Scope): TypeRef {
  const name = refName(schema);
  if (name === undefined) return new TypeRef(() => atomOf(schema, scope));
  const target = scope.resolve(name);
  if (target === undefined) {
    throw new MergeError("BadSchema", `schema error: no type found matching: ${name}`);
  }
  const atomic = mapAtomicity(schema);
  return atomic === undefined ? target : new TypeRef(() => withAtomicity(target.atom, atomic), name);
}

/** A field may say that the map or list it refers to is atomic here, or is not. */
function withAtomicity(atom: Atom, atomic: boolean): Atom {
  if (atom.map !== undefined) return { ...atom, map: { ...atom.map, atomic } };
  if (atom.list !== undefined) return { ...atom, list: { ...atom.list, atomic } };
  throw new MergeError("BadSchema", "schema error: a scalar cannot be atomic or granular");
}

function atomOf(schema: OpenApiSchema, outer: Scope): Atom {
  const scope =
    schema["x-kubernetes-preserve-unknown-fields"] === true && !outer.preserveUnknown
      ? { ...outer, preserveUnknown: true }
      : outer;
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  switch (type) {
    case undefined:
    case "":
      return { scalar: "untyped", list: listOf(schema, scope), map: mapOf(schema, scope) };
    case "object":
      return { map: mapOf(schema, scope) };
    case "array":
      return { list: listOf(schema, scope) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "string":
      return { scalar: !schema.format || schema.format === "byte" ? "string" : "untyped" };
    default:
      throw new MergeError("BadSchema", `unrecognized type: '${type}'`);
  }
}

function mapAtomicity(schema: OpenApiSchema): boolean | undefined {
  const value = schema["x-kubernetes-map-type"];
  if (value === undefined) return undefined;
  if (value === "atomic") return true;
  if (value === "granular") return false;
  throw new MergeError("BadSchema", `unknown map type ${String(value)}`);
}

const stringField: Field = { type: scalarType("string") };

function mapOf(schema: OpenApiSchema, scope: Scope): MapType {
  const fields = new Map<string, Field>();
  const required = new Set(schema.required ?? []);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    fields.set(name, fieldOf(property, scope, required.has(name)));
  }
  const named = fields.size;
  if (scope.embedded && schema["x-kubernetes-embedded-resource"] === true) {
    fields.set("apiVersion", stringField);
    fields.set("kind", stringField);
    fields.set("metadata", { type: objectMetaType });
  }
  let element: TypeRef | undefined;
  const additional = schema.additionalProperties;
  if (additional === undefined) {
    if (scope.preserveUnknown || (named === 0 && fields.size === 0)) element = deduced;
  } else if (typeof additional === "object") {
    element = typeRef(additional, scope);
  } else if (additional) {
    element = deduced;
  }
  return { atomic: mapAtomicity(schema) ?? false, fields, element };
}

function fieldOf(schema: OpenApiSchema, scope: Scope, required: boolean): Field {
  const strategy = schema["x-kubernetes-patch-strategy"];
  const mergeKey = schema["x-kubernetes-patch-merge-key"];
  return {
    type: typeRef(schema, scope),
    ...(schema.default === undefined ? {} : { default: schema.default as JsonValue }),
    ...(required ? { required } : {}),
    ...(typeof strategy === "string" ? { patchStrategies: strategy.split(",") } : {}),
    ...(typeof mergeKey === "string" ? { patchMergeKey: mergeKey } : {}),
  };
}

function listOf(schema: OpenApiSchema, scope: Scope): ListType {
  const items = Array.isArray(schema.items) ? schema.items[0] : (schema.items as OpenApiSchema | undefined);
  const element = items === undefined ? untypedAtomic : typeRef(items, scope);
  const { atomic, keys } = listRelationship(schema);
  return { atomic, keys, element };
}

function listRelationship(schema: OpenApiSchema): { atomic: boolean; keys: readonly string[] } {
  const listTypeName = schema["x-kubernetes-list-type"];
  if (listTypeName !== undefined) {
    switch (listTypeName) {
      case "atomic":
        return { atomic: true, keys: [] };
      case "set":
        return { atomic: false, keys: [] };
      case "map": {
        const keys = schema["x-kubernetes-list-map-keys"];
        if (!Array.isArray(keys)) throw new MergeError("BadSchema", "missing map keys");
        return { atomic: false, keys: keys as string[] };
      }
      default:
        throw new MergeError("BadSchema", `unknown list type ${String(listTypeName)}`);
    }
  }
  const strategy = schema["x-kubernetes-patch-strategy"];
  if (strategy === "merge" || strategy === "merge,retainKeys") {
    const key = schema["x-kubernetes-patch-merge-key"];
    return { atomic: false, keys: typeof key === "string" ? [key] : [] };
  }
  return { atomic: true, keys: [] };
}

/** The definitions of an OpenAPI document, whichever version it has. */
export function definitionsOf(document: JsonObject): Readonly<Record<string, OpenApiSchema>> {
  const components = document.components as { schemas?: Record<string, OpenApiSchema> } | undefined;
  return components?.schemas ?? (document.definitions as Record<string, OpenApiSchema> | undefined) ?? {};
}
