/** The shapes of built-in kinds, compiled from the tables for decoding. */
import { definition, type Schema } from "../tables/index.ts";
import { keptZeros, omittedEmpties, printedNulls } from "./presence.generated.ts";

export type Scalar =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "float64"
  | "quantity"
  | "time"
  | "microtime"
  | "duration"
  | "int-or-string"
  | "bytes";

export type Shape =
  | { readonly type: "scalar"; readonly scalar: Scalar }
  | { readonly type: "any" }
  | { readonly type: "list"; readonly items: Shape }
  | { readonly type: "map"; readonly values: Shape }
  /** A schema of a custom resource, or the other form that JSON schema allows in its place. */
  | { readonly type: "schema-or"; readonly schema: string; readonly other: "bool" | "schemas" | "strings" }
  | StructShape;

export interface StructShape {
  readonly type: "struct";
  /** `io.k8s.api.apps.v1.DeploymentSpec` */
  readonly definition: string;
  /** Go's name of the type, for messages: `DeploymentSpec`. */
  readonly name: string;
  readonly fields: readonly Field[];
  readonly names: ReadonlySet<string>;
}

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  /** What stands for an absent value; `undefined` leaves the field out. */
  readonly absent: "null" | "zero" | undefined;
  /** Whether a zero value is left out. */
  readonly omitEmpty: boolean;
  /** Whether an empty list or map is printed as null: what is stored as protobuf does not tell the two apart. */
  readonly emptyIsNull: boolean;
}

/** Packages whose kinds are stored as JSON. */
const storedAsJson = /\.(apiextensions-apiserver|kube-aggregator)\./;

const structs = new Map<string, Shape>();

/** The shape of a definition, `io.k8s.api.apps.v1.Deployment`. Throws for a name the tables do not have. */
export function shapeOf(name: string): Shape {
  const known = structs.get(name);
  if (known) return known;
  const special = specialShape(name);
  if (special) {
    structs.set(name, special);
    return special;
  }
  const schema = definition(name);
  if (!schema) throw new Error(`the tables have no definition ${name}`);
  // An object without fields of its own is an empty structure, not free content.
  const { properties = schema.type === "object" && !schema.additionalProperties ? {} : undefined } = schema;
  if (!properties) {
    const shape = compile(schema);
    structs.set(name, shape);
    return shape;
  }
  // Registered before its fields are compiled: JSONSchemaProps refers to itself.
  const fields: Field[] = [];
  const struct: StructShape = {
    type: "struct",
    definition: name,
    name: name.slice(name.lastIndexOf(".") + 1),
    fields,
    names: new Set(Object.keys(properties)),
  };
  structs.set(name, struct);
  for (const [field, fieldSchema] of Object.entries(properties))
    fields.push({
      ...compileField(name, field, fieldSchema, schema.required?.includes(field) ?? false),
      emptyIsNull:
        !storedAsJson.test(name) && field !== "managedFields" && !name.endsWith(".HPAScalingRules"),
    });
  return struct;
}

function specialShape(name: string): Shape | undefined {
  switch (name.slice(name.lastIndexOf(".") + 1)) {
    case "Time":
      return { type: "scalar", scalar: "time" };
    case "MicroTime":
      return { type: "scalar", scalar: "microtime" };
    case "Duration":
      return { type: "scalar", scalar: "duration" };
    case "Quantity":
      return { type: "scalar", scalar: "quantity" };
    case "IntOrString":
      return { type: "scalar", scalar: "int-or-string" };
    case "JSONSchemaPropsOrBool":
      return { type: "schema-or", schema: sibling(name), other: "bool" };
    case "JSONSchemaPropsOrArray":
      return { type: "schema-or", schema: sibling(name), other: "schemas" };
    case "JSONSchemaPropsOrStringArray":
      return { type: "schema-or", schema: sibling(name), other: "strings" };
    case "RawExtension":
    case "FieldsV1":
    case "JSON":
      return { type: "any" };
    default:
      return undefined;
  }
}

function sibling(name: string): string {
  return `${name.slice(0, name.lastIndexOf("."))}.JSONSchemaProps`;
}

function compile(schema: Schema): Shape {
  if (schema.$ref) return shapeOf(schema.$ref);
  if (schema.items) return { type: "list", items: compile(schema.items) };
  if (schema.additionalProperties) return { type: "map", values: compile(schema.additionalProperties) };
  switch (schema.type) {
    case "string":
      if (schema.format === "byte") return { type: "scalar", scalar: "bytes" };
      return { type: "scalar", scalar: schema.format === "date-time" ? "time" : "string" };
    case "boolean":
      return { type: "scalar", scalar: "bool" };
    case "integer":
      return { type: "scalar", scalar: schema.format === "int32" ? "int32" : "int64" };
    case "number":
      return { type: "scalar", scalar: "float64" };
    default:
      if (schema.format === "quantity") return { type: "scalar", scalar: "quantity" };
      if (schema.format === "int-or-string") return { type: "scalar", scalar: "int-or-string" };
      return { type: "any" };
  }
}

function compileField(
  owner: string,
  name: string,
  schema: Schema,
  required: boolean,
): Omit<Field, "emptyIsNull"> {
  const shape = compile(schema);
  const path = `${owner}.${name}`;
  // An empty list of owners asks to forget them all; the field manager must get to see it.
  if (path.endsWith(".ObjectMeta.managedFields")) return { name, shape, absent: undefined, omitEmpty: false };
  // A reference without content is refused in other words than none.
  if (path.endsWith(".IPAddressSpec.parentRef")) return { name, shape, absent: undefined, omitEmpty: false };
  // No policies are not the same as none given, which stands for the defaults.
  if (path.endsWith(".HPAScalingRules.policies")) return { name, shape, absent: undefined, omitEmpty: false };
  if (exceptions(printedNulls, "printedNulls").has(path))
    return { name, shape, absent: "null", omitEmpty: false };
  if (exceptions(omittedEmpties, "omittedEmpties").has(path))
    return { name, shape, absent: undefined, omitEmpty: true };
  const embedded = shape.type === "struct" && schema.default !== undefined;
  if (embedded) return { name, shape, absent: "zero", omitEmpty: false };
  if (required) {
    const absent = shape.type === "scalar" && !isOpaque(shape.scalar) ? "zero" : "null";
    return { name, shape, absent: shape.type === "struct" ? undefined : absent, omitEmpty: false };
  }
  if (shape.type === "scalar") {
    // A zero default without omitempty is printed; other defaults are for the kind's own defaulting.
    const zeroDefault = schema.default === "" || schema.default === 0;
    if (zeroDefault) return { name, shape, absent: "zero", omitEmpty: false };
    const kept = isOpaque(shape.scalar) || exceptions(keptZeros, "keptZeros").has(path);
    return { name, shape, absent: undefined, omitEmpty: !kept };
  }
  return { name, shape, absent: undefined, omitEmpty: shape.type === "list" || shape.type === "map" };
}

/** Scalars whose zero is no plain JSON zero. */
function isOpaque(scalar: Scalar): boolean {
  return scalar === "time" || scalar === "microtime" || scalar === "quantity" || scalar === "int-or-string";
}

const expanded = new Map<string, ReadonlySet<string>>();

function exceptions(table: Readonly<Record<string, string>>, key: string): ReadonlySet<string> {
  let set = expanded.get(key);
  if (!set) {
    const paths = new Set<string>();
    for (const [pkg, types] of Object.entries(table)) {
      for (const entry of types.split(" ")) {
        const [type = "", fields = ""] = entry.split(":");
        for (const field of fields.split(",")) paths.add(`${pkg}.${type}.${field}`);
      }
    }
    set = paths;
    expanded.set(key, set);
  }
  return set;
}
