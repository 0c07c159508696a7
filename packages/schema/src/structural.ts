/** From zod to the structural schemas that a CRD may carry. What has no structural form is refused with a reason. */
import { type JsonValue, parseJson } from "@keelson/core";
import { RE2JS } from "re2js";
import { z } from "zod";
import type { StructuralSchema, ValidationRule } from "./crd-object.ts";
import { SchemaError } from "./errors.ts";
import { ruleOf, structuralHints } from "./fields.ts";

type Schema = z.core.$ZodTypes;

/** A property's schema and whether the object must have it. */
interface Converted {
  readonly schema: StructuralSchema;
  readonly optional: boolean;
}

/** The structural form of a zod schema; `path` is where it stands, for messages. */
export function structuralSchema(schema: z.ZodType, path: string): StructuralSchema {
  return convert(schema as unknown as Schema, path, []).schema;
}

function convert(schema: Schema, path: string, above: readonly Schema[]): Converted {
  if (above.includes(schema)) {
    throw new SchemaError(
      "Cycle",
      path,
      "the schema contains itself, and a structural schema cannot; describe the levels you need one by one, or store the rest with preserveUnknown()",
    );
  }
  const inside = [...above, schema];
  const def = schema._zod.def;
  switch (def.type) {
    case "optional":
      return decorate(schema, { ...convert(def.innerType as Schema, path, inside), optional: true }, path);
    case "nonoptional":
    case "readonly":
      return decorate(schema, convert(def.innerType as Schema, path, inside), path);
    case "nullable": {
      const inner = convert(def.innerType as Schema, path, inside);
      return decorate(
        schema,
        { schema: { ...inner.schema, nullable: true }, optional: inner.optional },
        path,
      );
    }
    // What the server does with a default is zod's prefault: defaults inside it are filled in.
    case "prefault":
    case "default": {
      const inner = convert(def.innerType as Schema, path, inside);
      const filled = { ...inner.schema, default: jsonDefault(def.defaultValue, path) };
      return decorate(schema, { schema: filled, optional: true }, path);
    }
    default: {
      const hint = structuralHints.get(schema as never);
      const base = hint?.replace ? { ...hint.replace } : bare(schema, path, inside);
      return decorate(schema, { schema: { ...base, ...hint?.extend }, optional: false }, path);
    }
  }
}

/** Adds what stands beside the type: the description and the CEL rules. */
function decorate(schema: Schema, converted: Converted, path: string): Converted {
  const description = z.globalRegistry.get(schema)?.description;
  const rules = rulesOf(schema, path);
  return {
    optional: converted.optional,
    schema: {
      ...converted.schema,
      ...(description ? { description } : {}),
      ...(rules.length > 0
        ? { "x-kubernetes-validations": [...(converted.schema["x-kubernetes-validations"] ?? []), ...rules] }
        : {}),
    },
  };
}

function rulesOf(schema: Schema, path: string): ValidationRule[] {
  const rules: ValidationRule[] = [];
  const hinted = structuralHints.get(schema as never) !== undefined;
  for (const check of checksOf(schema)) {
    const rule = ruleOf(check);
    if (rule) rules.push(rule);
    else if (check._zod.def.check === "custom" && !hinted) {
      throw notStructural(path, "refine() runs only in JavaScript", "write .check(cel(rule, message))");
    } else if (check._zod.def.check === "overwrite") {
      throw notStructural(
        path,
        "the server cannot rewrite a value (trim, toLowerCase)",
        "state the form with regex()",
      );
    }
  }
  return rules;
}

function checksOf(schema: Schema): readonly z.core.$ZodCheck[] {
  return (schema._zod.def as { checks?: readonly z.core.$ZodCheck[] }).checks ?? [];
}

function bare(schema: Schema, path: string, inside: readonly Schema[]): StructuralSchema {
  const def = schema._zod.def;
  switch (def.type) {
    case "string":
      return stringSchema(schema, path);
    case "number":
      return numberSchema(schema, path);
    case "boolean":
      return { type: "boolean" };
    case "enum":
      return enumeration(Object.values(def.entries), path);
    case "literal":
      return enumeration([...def.values], path);
    case "array":
      return arraySchema(schema as z.core.$ZodArray, path, inside);
    case "record":
      return recordSchema(schema as z.core.$ZodRecord, path, inside);
    case "object":
      return objectSchema(schema as z.core.$ZodObject, path, inside);
    case "union":
      return unionSchema(schema as z.core.$ZodUnion, path, inside);
    case "any":
    case "unknown":
      throw notStructural(path, `z.${def.type}() says nothing about the value`, "write preserveUnknown()");
    case "date":
      throw notStructural(path, "JSON has no dates", "write z.iso.datetime()");
    case "bigint":
      throw notStructural(
        path,
        "JSON numbers are not bigints",
        "write z.int(), or z.string() for larger numbers",
      );
    case "pipe":
    case "transform":
      throw notStructural(
        path,
        "the server cannot run a transform",
        "declare the stored form and derive the rest in code",
      );
    case "lazy":
      throw notStructural(path, "z.lazy() hides its type", "write the schema itself");
    case "catch":
      throw notStructural(path, "the server has no catch", "write .default()");
    case "tuple":
      throw notStructural(
        path,
        "lists have one item type",
        "write z.array(), or z.object() with named fields",
      );
    case "intersection":
      throw notStructural(path, "an intersection has two shapes", "write a.extend(b.shape)");
    case "map":
    case "set":
      throw notStructural(
        path,
        `JSON has no ${def.type}`,
        def.type === "map" ? "write z.record()" : "write set(item)",
      );
    default:
      throw notStructural(
        path,
        `z.${def.type}() has no form in a CRD`,
        "use objects, arrays, records, strings, numbers, booleans and enums",
      );
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  datetime: "date-time",
  date: "date",
  uuid: "uuid",
  guid: "uuid",
  email: "email",
  url: "uri",
  ipv4: "ipv4",
  ipv6: "ipv6",
};

/** What zod checks beyond the pattern it shows. */
const PATTERNS: Readonly<Record<string, string>> = {
  base64: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
};

function stringSchema(schema: Schema, path: string): StructuralSchema {
  const out: StructuralSchema = { type: "string" };
  const patterns: string[] = [];
  const formats = [schema as unknown as z.core.$ZodCheck, ...checksOf(schema)];
  for (const check of formats) {
    const def = check._zod.def as unknown as {
      check?: string;
      minimum?: number;
      maximum?: number;
      length?: number;
      format?: string;
      pattern?: RegExp;
    };
    if (def.check === "min_length") out.minLength = def.minimum as number;
    else if (def.check === "max_length") out.maxLength = def.maximum as number;
    else if (def.check === "length_equals") {
      out.minLength = def.length as number;
      out.maxLength = def.length as number;
    } else if (def.check === "string_format") {
      const known = FORMATS[def.format ?? ""];
      const exact = PATTERNS[def.format ?? ""];
      if (known) out.format = known;
      else if (exact) patterns.push(exact);
      else if (def.pattern) patterns.push(re2(def.pattern, path));
      else throw notStructural(path, `the string format ${def.format} has no pattern`, "write regex()");
    }
  }
  if (patterns.length === 1) out.pattern = patterns[0] as string;
  else if (patterns.length > 1) out.allOf = patterns.map((pattern) => ({ pattern }));
  return out;
}

/** The server matches with RE2: no look-around, no back-references, no flags. */
function re2(pattern: RegExp, path: string): string {
  if (pattern.flags.replace(/[gdy]/g, "") !== "") {
    throw new SchemaError(
      "BadPattern",
      path,
      `the flags of ${pattern} mean nothing to the server; write them into the pattern`,
    );
  }
  try {
    RE2JS.compile(pattern.source);
  } catch (cause) {
    throw new SchemaError(
      "BadPattern",
      path,
      `the server cannot match ${pattern} (RE2 has no look-around and no back-references); write a cel() rule instead`,
      { cause },
    );
  }
  return pattern.source;
}

const INTEGERS: Readonly<Record<string, { format?: string; minimum?: number }>> = {
  safeint: {},
  int32: { format: "int32" },
  uint32: { format: "int64", minimum: 0 },
};

function numberSchema(schema: Schema, path: string): StructuralSchema {
  const own = (schema._zod.def as { format?: string }).format;
  const out: StructuralSchema = { type: "number" };
  const apply = (format: string) => {
    const integer = INTEGERS[format];
    if (integer) Object.assign(out, { type: "integer" }, integer);
    else out.format = format === "float32" ? "float" : "double";
  };
  if (own) apply(own);
  for (const check of checksOf(schema)) {
    const def = check._zod.def as unknown as {
      check: string;
      value: number;
      inclusive: boolean;
      format: string;
    };
    if (def.check === "greater_than") {
      out.minimum = def.value;
      if (!def.inclusive) out.exclusiveMinimum = true;
    } else if (def.check === "less_than") {
      out.maximum = def.value;
      if (!def.inclusive) out.exclusiveMaximum = true;
    } else if (def.check === "multiple_of") out.multipleOf = def.value;
    else if (def.check === "number_format") apply(def.format);
  }
  for (const bound of [out.minimum, out.maximum]) {
    if (bound !== undefined && !Number.isFinite(bound)) {
      throw notStructural(path, "a bound must be a finite number", "leave the bound out");
    }
  }
  return out;
}

function enumeration(values: readonly unknown[], path: string): StructuralSchema {
  const types = new Set(values.map((value) => typeof value));
  const [type] = types;
  if (types.size !== 1 || (type !== "string" && type !== "number" && type !== "boolean")) {
    throw notStructural(
      path,
      "the values of an enum must be of one type: strings, numbers or booleans",
      "split the field in two",
    );
  }
  const name = type !== "number" ? type : values.every(Number.isInteger) ? "integer" : "number";
  return { type: name, enum: values as JsonValue[] };
}

function arraySchema(schema: z.core.$ZodArray, path: string, inside: readonly Schema[]): StructuralSchema {
  const out: StructuralSchema = {
    type: "array",
    items: convert(schema._zod.def.element as Schema, `${path}[]`, inside).schema,
  };
  for (const check of checksOf(schema as unknown as Schema)) {
    const def = check._zod.def as unknown as {
      check: string;
      minimum?: number;
      maximum?: number;
      length?: number;
    };
    if (def.check === "min_length") out.minItems = def.minimum as number;
    else if (def.check === "max_length") out.maxItems = def.maximum as number;
    else if (def.check === "length_equals") {
      out.minItems = def.length as number;
      out.maxItems = def.length as number;
    }
  }
  return out;
}

function recordSchema(schema: z.core.$ZodRecord, path: string, inside: readonly Schema[]): StructuralSchema {
  const key = schema._zod.def.keyType as Schema;
  if (key._zod.def.type !== "string" || checksOf(key).length > 0) {
    throw notStructural(
      path,
      "the keys of a map are plain strings",
      "write z.record(z.string(), …), or z.object() for known keys",
    );
  }
  return {
    type: "object",
    additionalProperties: convert(schema._zod.def.valueType as Schema, `${path}.*`, inside).schema,
  };
}

function objectSchema(schema: z.core.$ZodObject, path: string, inside: readonly Schema[]): StructuralSchema {
  const def = schema._zod.def;
  const properties: Record<string, StructuralSchema> = {};
  const required: string[] = [];
  for (const [name, property] of Object.entries(def.shape)) {
    const converted = convert(property as Schema, path ? `${path}.${name}` : name, inside);
    properties[name] = converted.schema;
    if (!converted.optional) required.push(name);
  }
  const catchall = (def.catchall as Schema | undefined)?._zod.def.type;
  if (catchall !== undefined && catchall !== "unknown" && catchall !== "never") {
    throw notStructural(
      path,
      "an object has named fields or a type for all others, not both",
      "move the others into a z.record()",
    );
  }
  return {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(catchall === "unknown" ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
  };
}

/** Unions of literals become an enum; discriminated unions of objects become one object with a oneOf. */
function unionSchema(schema: z.core.$ZodUnion, path: string, inside: readonly Schema[]): StructuralSchema {
  const options = schema._zod.def.options as readonly Schema[];
  if (options.every((option) => option._zod.def.type === "literal" || option._zod.def.type === "enum")) {
    return enumeration(
      options.flatMap((option) => bare(option, path, inside).enum ?? []),
      path,
    );
  }
  const discriminator = (schema._zod.def as { discriminator?: string }).discriminator;
  if (discriminator && options.every((option) => option._zod.def.type === "object")) {
    return taggedUnion(
      discriminator,
      options.map((option) => convert(option, path, inside).schema),
      path,
    );
  }
  throw notStructural(
    path,
    "the branches of a union differ in type, and a structural schema has one",
    "write intOrString(), a z.discriminatedUnion() of objects, or one object with optional fields and a cel() rule",
  );
}

function taggedUnion(tag: string, branches: readonly StructuralSchema[], path: string): StructuralSchema {
  const properties: Record<string, StructuralSchema> = {};
  const tags: unknown[] = [];
  for (const branch of branches) {
    tags.push(...(branch.properties?.[tag]?.enum ?? []));
    for (const [name, property] of Object.entries(branch.properties ?? {})) {
      if (name === tag) continue;
      const other = properties[name];
      if (other && JSON.stringify(other) !== JSON.stringify(property)) {
        throw notStructural(
          `${path}.${name}`,
          "two branches give this field different schemas",
          "name them differently",
        );
      }
      properties[name] = property;
    }
  }
  return {
    type: "object",
    properties: { [tag]: enumeration(tags, `${path}.${tag}`), ...properties },
    required: [tag],
    oneOf: branches.map((branch) => ({
      properties: { [tag]: { enum: branch.properties?.[tag]?.enum ?? [] } },
      ...(branch.required ? { required: branch.required } : {}),
    })),
  };
}

function jsonDefault(value: unknown, path: string): JsonValue {
  const copy: JsonValue | undefined = value === undefined ? undefined : parseJson(JSON.stringify(value));
  if (
    copy === undefined ||
    (typeof value === "object" && value !== null && value.constructor !== Object && !Array.isArray(value))
  ) {
    throw new SchemaError("BadDefault", path, "a default must be plain JSON");
  }
  return copy;
}

function notStructural(path: string, reason: string, instead: string): SchemaError {
  return new SchemaError("NotStructural", path, `${reason}; ${instead}`);
}
