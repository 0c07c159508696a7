/** Whether what an expression gives can stand where a schema wants something. */
import type { CelType } from "@keelson/cel";
import { formatType, isOptionalType } from "@keelson/cel/internal";
import type { SchemaTypes } from "../expressions/types.ts";
import { allowsUnknown, fieldOf, isOpen, itemsOf, type RootedSchema, typesOf } from "../openapi/schema.ts";

/** Undefined when it can, otherwise why not. Types that are known only at run time can stand anywhere. */
export function mismatch(type: CelType, wanted: RootedSchema, types: SchemaTypes): string | undefined {
  if (isOptionalType(type)) return mismatch(type.params[0] as CelType, wanted, types);
  if (type.kind === "dyn" || type.kind === "any" || type.kind === "null" || isOpen(wanted.schema))
    return undefined;
  const allowed = typesOf(wanted.schema);
  const given = jsonTypeOf(type);
  if (given === undefined) return `a value of type ${formatType(type)} cannot stand in an object`;
  const fits = allowed.includes(given) || (given === "integer" && allowed.includes("number"));
  if (!fits) return `it is ${named(given)} where ${allowed.map(named).join(" or ")} is needed`;
  if (type.kind === "list") {
    const items = { schema: itemsOf(wanted), schemas: wanted.schemas };
    return inside("an element of it", mismatch(type.params[0] as CelType, items, types));
  }
  if (type.kind === "map") return mapMismatch(type, wanted, types);
  return type.kind === "object" ? objectMismatch(type, wanted, types) : undefined;
}

/** A map literal has one type for all its values: it fits an object when no field is of another. */
function mapMismatch(type: CelType, wanted: RootedSchema, types: SchemaTypes): string | undefined {
  const { additionalProperties } = wanted.schema;
  if (typeof additionalProperties !== "object") return undefined;
  const schema = wanted.schemas.resolve(additionalProperties);
  return inside(
    "a value of it",
    mismatch(type.params[1] as CelType, { schema, schemas: wanted.schemas }, types),
  );
}

function objectMismatch(type: CelType, wanted: RootedSchema, types: SchemaTypes): string | undefined {
  const given = types.schemaNamed(type.name);
  if (!given) return undefined;
  for (const [name, property] of Object.entries(given.schema.properties ?? {})) {
    const field = fieldOf(wanted, name);
    if (field === undefined) {
      if (allowsUnknown(wanted.schema)) continue;
      return `it has a field ${name} that is not known there`;
    }
    const own = types.typeOf(
      { schema: given.schemas.resolve(property), schemas: given.schemas },
      `${type.name}.${name}`,
    );
    // The same type under two names needs no second look, and may contain itself.
    if (own.kind === "object" && types.schemaNamed(own.name)?.schema === field) continue;
    const problem = mismatch(own, { schema: field, schemas: wanted.schemas }, types);
    if (problem !== undefined) return `its field ${name} does not fit: ${problem}`;
  }
  return undefined;
}

function inside(what: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${what} does not fit: ${problem}`;
}

function jsonTypeOf(type: CelType): string | undefined {
  switch (type.kind) {
    case "string":
    case "bytes":
    case "timestamp":
    case "duration":
      return "string";
    case "int":
    case "uint":
      return "integer";
    case "double":
      return "number";
    case "bool":
      return "boolean";
    case "list":
      return "array";
    case "map":
    case "object":
      return "object";
    default:
      return undefined;
  }
}

const articles: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "a boolean",
  array: "a list",
  object: "an object",
};

/** A JSON type as a sentence names it. */
export function named(type: string): string {
  return articles[type] ?? type;
}
