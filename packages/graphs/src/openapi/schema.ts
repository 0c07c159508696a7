/** Schemas as the server's OpenAPI documents write them, and the little that is asked of them. */
import type { JsonValue } from "@keelson/core";

/** A node of an OpenAPI v3 schema. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly JsonValue[];
  readonly default?: JsonValue;
  readonly oneOf?: readonly OpenApiSchema[];
  readonly anyOf?: readonly OpenApiSchema[];
  readonly allOf?: readonly OpenApiSchema[];
  readonly nullable?: boolean;
  readonly $ref?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly { group: string; version: string; kind: string }[];
}

/** Schemas that refer to others by name are read through a resolver. */
export class Schemas {
  readonly #components: Readonly<Record<string, OpenApiSchema>>;

  constructor(components: Readonly<Record<string, OpenApiSchema>>) {
    this.#components = components;
  }

  /** The schema itself, references followed. */
  resolve(schema: OpenApiSchema): OpenApiSchema {
    let at = schema;
    for (let steps = 0; steps < 32; steps++) {
      const [only, ...others] = at.allOf ?? [];
      const ref = at.$ref ?? (others.length === 0 ? only?.$ref : undefined);
      if (ref === undefined) return at;
      const name = ref.slice(ref.lastIndexOf("/") + 1);
      const next = this.#components[decodeURIComponent(name)];
      if (!next) return {};
      at = next;
    }
    return {};
  }
}

/** A schema with what its references lead to. */
export interface RootedSchema {
  readonly schema: OpenApiSchema;
  readonly schemas: Schemas;
}

/** Anything may stand here. */
export function isOpen(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || typesOf(schema).length === 0;
}

/** A field that is no field of the schema may stand here all the same. */
export function allowsUnknown(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
}

/** A text or a whole number. */
export function isIntOrString(schema: OpenApiSchema): boolean {
  return schema["x-kubernetes-int-or-string"] === true || schema.format === "int-or-string";
}

/** The JSON types that a value may have; empty when any may. */
export function typesOf(schema: OpenApiSchema): readonly string[] {
  if (isIntOrString(schema)) return ["string", "integer"];
  for (const choices of [schema.oneOf, schema.anyOf]) {
    const types = (choices ?? []).flatMap(({ type }) => type ?? []);
    if (types.length > 0) return [...new Set(types)];
  }
  if (schema.type !== undefined) return [schema.type];
  if (schema.properties !== undefined || schema.additionalProperties !== undefined) return ["object"];
  return [];
}

/** The schema of a field by its name in JSON; undefined when there is no such field. */
export function fieldOf({ schema, schemas }: RootedSchema, name: string): OpenApiSchema | undefined {
  const known = schema.properties;
  if (known && Object.hasOwn(known, name)) return schemas.resolve(known[name] as OpenApiSchema);
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object") return schemas.resolve(additionalProperties);
  return allowsUnknown(schema) ? {} : undefined;
}

/** The schema of the elements of a list. */
export function itemsOf({ schema, schemas }: RootedSchema): OpenApiSchema {
  return schema.items === undefined ? {} : schemas.resolve(schema.items);
}
