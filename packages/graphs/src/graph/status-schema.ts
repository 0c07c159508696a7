/** The schema of a status, from the types that its expressions have. */
import type { CelType } from "@keelson/cel";
import type { StructuralSchema } from "@keelson/schema";
import type { SchemaTypes } from "../expressions/types.ts";
import type { Path } from "../path.ts";

const anything: StructuralSchema = { "x-kubernetes-preserve-unknown-fields": true };

/** Fields with the types of the expressions behind them. */
export function statusSchema(
  fields: readonly { readonly at: Path; readonly type: CelType }[],
  types: SchemaTypes,
): StructuralSchema {
  const root: StructuralSchema = { type: "object", properties: {} };
  for (const { at, type } of fields) place(root, at, leaf(type, types));
  return root;
}

function place(parent: StructuralSchema, [step, ...rest]: Path, schema: StructuralSchema): void {
  if (typeof step === "number") {
    parent.type = "array";
    if (rest.length === 0) parent.items = schema;
    else {
      parent.items ??= {};
      delete parent.properties;
      place(parent.items, rest, schema);
    }
    return;
  }
  parent.type = "object";
  parent.properties ??= {};
  const name = String(step);
  if (rest.length === 0) parent.properties[name] = schema;
  else {
    const child = parent.properties[name] ?? {};
    parent.properties[name] = child;
    place(child, rest, schema);
  }
}

/** A date is told as such at the top, and may be anything inside an object, as kro has it. */
function leaf(type: CelType, types: SchemaTypes): StructuralSchema {
  if (type.kind === "timestamp") return { type: "string", format: "date-time" };
  return schemaOf(type, types, []);
}

function schemaOf(type: CelType, types: SchemaTypes, inside: readonly string[]): StructuralSchema {
  switch (type.kind) {
    case "bool":
      return { type: "boolean" };
    case "int":
    case "uint":
      return { type: "integer" };
    case "double":
      return { type: "number" };
    case "string":
      return { type: "string" };
    case "bytes":
      return { type: "string", format: "byte" };
    case "list":
      return { type: "array", items: schemaOf(type.params[0] as CelType, types, inside) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(type.params[1] as CelType, types, inside) };
    case "object":
      return objectSchema(type.name, types, inside);
    default:
      return anything;
  }
}

/** A type that contains itself, directly or not, has no finite schema: anything may stand at that point. */
function objectSchema(name: string, types: SchemaTypes, inside: readonly string[]): StructuralSchema {
  const found = types.schemaNamed(name);
  if (!found || inside.length > 20) return anything;
  const { schema, schemas } = found;
  const properties: Record<string, StructuralSchema> = {};
  for (const [field, property] of Object.entries(schema.properties ?? {})) {
    const type = types.typeOf({ schema: schemas.resolve(property), schemas }, `${name}.${field}`);
    properties[field] = schemaOf(type, types, [...inside, name]);
  }
  return { type: "object", properties };
}
