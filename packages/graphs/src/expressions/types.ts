/** The types that schemas give to variables. Types of fields are made when an expression asks for them. */
import { type CelType, listType, mapType, type ObjectDecl, objectType, types } from "@keelson/cel";
import { escapeName, fieldNamed } from "@keelson/cel/internal";
import {
  allowsUnknown,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  type RootedSchema,
  type Schemas,
  typesOf,
} from "../openapi/schema.ts";

export class SchemaTypes {
  readonly #objects = new Map<string, RootedSchema>();

  /** The type of what a schema describes; `name` becomes the name of its type. */
  typeOf({ schema, schemas }: RootedSchema, name: string): CelType {
    if (isIntOrString(schema)) return types.dyn;
    const [type, ...others] = typesOf(schema);
    if (type === undefined || others.length > 0) return types.dyn;
    switch (type) {
      case "array":
        return listType(this.#inner(itemsOf({ schema, schemas }), schemas, `${name}.@idx`));
      case "object":
        return this.#object(schema, schemas, name);
      case "string":
        return formats[schema.format ?? ""] ?? types.string;
      case "boolean":
        return types.bool;
      case "integer":
        return types.int;
      case "number":
        return types.double;
      default:
        return types.dyn;
    }
  }

  /** For an environment: the fields of a type by its name. */
  readonly resolve = (name: string): ObjectDecl | undefined => {
    const found = this.#objects.get(name);
    if (!found) return undefined;
    const { schema, schemas } = found;
    return {
      name,
      fields: {
        get: (field) => {
          const known = propertyNamed(schema, field);
          if (known) return this.#inner(schemas.resolve(known), schemas, `${name}.${field}`);
          return allowsUnknown(schema) ? types.dyn : undefined;
        },
      },
    };
  };

  /** The schema behind the name of a type. */
  schemaNamed(name: string): RootedSchema | undefined {
    return this.#objects.get(name);
  }

  #inner(schema: OpenApiSchema, schemas: Schemas, name: string): CelType {
    return this.typeOf({ schema, schemas }, name);
  }

  #object(schema: OpenApiSchema, schemas: Schemas, name: string): CelType {
    const { additionalProperties, properties } = schema;
    if (properties === undefined || Object.keys(properties).length === 0) {
      if (typeof additionalProperties !== "object") return types.dyn;
      return mapType(
        types.string,
        this.#inner(schemas.resolve(additionalProperties), schemas, `${name}.@elem`),
      );
    }
    this.#objects.set(name, { schema, schemas });
    return objectType(name);
  }
}

const formats: Readonly<Record<string, CelType>> = {
  byte: types.bytes,
  duration: types.duration,
  date: types.timestamp,
  "date-time": types.timestamp,
};

/** The schema of a property by the name that an expression writes: escaped, or as it is where CEL can read it. */
export function propertyNamed(schema: OpenApiSchema, field: string): OpenApiSchema | undefined {
  const { properties } = schema;
  if (!properties) return undefined;
  return fieldNamed(
    {
      get: (name) => (Object.hasOwn(properties, name) ? properties[name] : escapedProperty(properties, name)),
    },
    field,
  );
}

function escapedProperty(
  properties: Readonly<Record<string, OpenApiSchema>>,
  name: string,
): OpenApiSchema | undefined {
  if (!name.includes("__")) return undefined;
  const found = Object.keys(properties).find((each) => escapeName(each) === name);
  return found === undefined ? undefined : properties[found];
}
