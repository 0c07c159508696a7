/** A structural schema as the zod that gives it again. */
import { deepEqual, type JsonValue } from "@keelson/core";
import type { StructuralSchema } from "@keelson/schema";
import { codeOf, propertyOf } from "./code.ts";

/** Source, and the names of keelson that it needs beside `z`. */
export interface ZodSource {
  readonly code: string;
  readonly imports: ReadonlySet<string>;
}

/** A part of a schema that zod has no form for. */
export class NoZodForm extends Error {
  override readonly name = "NoZodForm";
}

export function zodSource(schema: StructuralSchema): ZodSource {
  const imports = new Set<string>();
  return { code: new Printer(imports).type(schema, ""), imports };
}

/** What a printer below understands. */
const known = new Set([
  ...["type", "description", "default", "enum", "properties", "required", "items", "additionalProperties"],
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"],
  "format",
  ...["x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"],
  ...["x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "anyOf"],
]);

class Printer {
  readonly #imports: Set<string>;

  constructor(imports: Set<string>) {
    this.#imports = imports;
  }

  type(schema: StructuralSchema, path: string): string {
    const strange = Object.keys(schema).find((key) => !known.has(key));
    if (strange !== undefined) throw new NoZodForm(`${path || "it"} has ${strange}`);
    const base = this.#base(schema, path);
    return `${base}${this.#rules(schema)}${defaultOf(schema)}${described(schema)}`;
  }

  #base(schema: StructuralSchema, path: string): string {
    const { type, enum: values } = schema;
    if (schema["x-kubernetes-int-or-string"]) return this.#from("intOrString", "");
    if (values) return enumOf(values as JsonValue[], type);
    switch (type) {
      case "string":
        if (schema.format === "date-time") return "z.iso.datetime()";
        if (schema.format !== undefined) throw new NoZodForm(`${path} has the format ${schema.format}`);
        return `z.string()${bounds(schema, "minLength", "maxLength")}${patternOf(schema)}`;
      case "integer":
        return `z.int()${bounds(schema, "minimum", "maximum")}`;
      case "number":
        return `z.number()${bounds(schema, "minimum", "maximum")}`;
      case "boolean":
        return "z.boolean()";
      case "array":
        return this.#array(schema, path);
      case "object":
        return this.#object(schema, path);
      default:
        throw new NoZodForm(`${path || "it"} may hold anything`);
    }
  }

  #array(schema: StructuralSchema, path: string): string {
    const item = this.type(schema.items ?? {}, `${path}[]`);
    const limits = bounds(schema, "minItems", "maxItems");
    const keys = schema["x-kubernetes-list-map-keys"];
    switch (schema["x-kubernetes-list-type"]) {
      case "set":
        return `${this.#from("set", item)}${limits}`;
      case "map":
        return `${this.#from("listMap", `${item}, { keys: ${codeOf((keys ?? []) as JsonValue)} }`)}${limits}`;
      case "atomic":
        return this.#from("atomic", `z.array(${item})${limits}`);
      default:
        return `z.array(${item})${limits}`;
    }
  }

  #object(schema: StructuralSchema, path: string): string {
    const { properties, additionalProperties, required = [] } = schema;
    if (schema["x-kubernetes-preserve-unknown-fields"]) return this.#from("preserveUnknown", "");
    if (typeof additionalProperties === "object") {
      return `z.record(z.string(), ${this.type(additionalProperties, `${path}.*`)})`;
    }
    const fields = Object.entries(properties ?? {}).map(([name, field]) => {
      const at = path === "" ? name : `${path}.${name}`;
      const optional = required.includes(name) || field.default !== undefined ? "" : ".optional()";
      return `${propertyOf(name)}: ${withOptional(this.type(field, at), optional)}`;
    });
    return fields.length === 0
      ? "z.object({})"
      : `z.object({\n${fields.map((each) => `${each},\n`).join("")}})`;
  }

  #rules(schema: StructuralSchema): string {
    return (schema["x-kubernetes-validations"] ?? [])
      .map(({ rule, message = "validation failed" }) => {
        if (rule === "self == oldSelf") return `.check(${this.#from("immutable", codeOf(message))})`;
        return `.check(${this.#from("cel", `${codeOf(rule)}, ${codeOf(message)}`)})`;
      })
      .join("");
  }

  #from(name: string, args: string): string {
    this.#imports.add(name);
    return `${name}(${args})`;
  }
}

/** Before the description, which zod keeps with the outermost. */
function withOptional(code: string, optional: string): string {
  return optional === "" ? code : code.replace(/(\.describe\("(?:[^"\\]|\\.)*"\))?$/, `${optional}$1`);
}

function enumOf(values: readonly JsonValue[], type: string | undefined): string {
  if (type === "string") return `z.enum(${codeOf(values as JsonValue)})`;
  return `z.literal(${codeOf(values as JsonValue)})`;
}

/** An object that is left out gets the defaults of its fields. */
function defaultOf({ default: value, type }: StructuralSchema): string {
  if (value === undefined) return "";
  return `.${type === "object" && deepEqual(value, {}) ? "prefault" : "default"}(${codeOf(value)})`;
}

function described({ description }: StructuralSchema): string {
  return description === undefined ? "" : `.describe(${codeOf(description)})`;
}

type Bound = "minLength" | "maxLength" | "minimum" | "maximum" | "minItems" | "maxItems";

function bounds(schema: StructuralSchema, least: Bound, most: Bound): string {
  const low = schema[least] === undefined ? "" : `.min(${schema[least]})`;
  const high = schema[most] === undefined ? "" : `.max(${schema[most]})`;
  return low + high;
}

function patternOf({ pattern }: StructuralSchema): string {
  if (pattern === undefined) return "";
  // A slash ends a literal, but for one in brackets.
  const source = pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]|\//g, (part) => (part === "/" ? "\\/" : part));
  return `.regex(/${source.replaceAll("\n", "\\n")}/)`;
}
