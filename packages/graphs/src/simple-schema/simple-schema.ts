/** SimpleSchema, in which a definition writes the spec of its instances, as a structural schema. */
import { deepCopy, type JsonObject, type JsonValue } from "@keelson/core";
import { errorText, isObject } from "@keelson/core/internal";
import type { StructuralSchema } from "@keelson/schema";
import { invalid } from "../errors.ts";
import type { Path } from "../path.ts";
import { applyMarkers, parseMarkers } from "./markers.ts";

/** Where the fields and the types of a definition stand. */
export interface SimpleSchemaSource {
  readonly spec: JsonObject;
  readonly types: JsonObject;
  readonly specPath: Path;
  readonly typesPath: Path;
}

/** Throws a `GraphError` that names the field. */
export function structuralSchema(source: SimpleSchemaSource): StructuralSchema {
  return new Transformer(source.types, source.typesPath).object(source.spec, source.specPath);
}

interface CustomType {
  readonly schema: StructuralSchema;
  /** A field of this type is required, because the type says so. */
  readonly required: boolean;
}

const atoms: Readonly<Record<string, StructuralSchema["type"]>> = {
  string: "string",
  integer: "integer",
  boolean: "boolean",
  float: "number",
};

/** Types inside types: `[][]map[string]string`. */
const maxDepth = 16;

class Transformer {
  readonly #types: JsonObject;
  readonly #path: Path;
  readonly #known = new Map<string, CustomType>();
  /** Types that are being made, outermost first: one that comes again is a circle. */
  readonly #underWay: string[] = [];

  constructor(types: JsonObject, path: Path) {
    this.#types = types;
    this.#path = path;
    for (const name of Object.keys(types)) this.#custom(name, [...path, name]);
  }

  object(fields: JsonObject, path: Path): StructuralSchema {
    const properties: Record<string, StructuralSchema> = {};
    const required = new Set<string>();
    for (const [name, written] of Object.entries(fields)) {
      properties[name] = this.#field(written, [...path, name], () => required.add(name));
    }
    const hasDefaults = Object.values(properties).some((each) => each.default !== undefined);
    return {
      type: "object",
      properties,
      ...(required.size > 0 ? { required: [...required].sort() } : {}),
      // An object that is left out gets the defaults of its fields all the same.
      ...(required.size === 0 && hasDefaults ? { default: {} } : {}),
    };
  }

  #field(written: JsonValue | undefined, path: Path, require: () => void): StructuralSchema {
    if (isObject(written)) return this.object(written as JsonObject, path);
    if (typeof written !== "string") {
      throw invalid(path, "a field is a type such as string, or an object of fields");
    }
    const bar = written.indexOf("|");
    const type = (bar < 0 ? written : written.slice(0, bar)).trim();
    if (type === "") throw invalid(path, "a type is missing before the markers");
    const schema = this.#type(type, path, 0);
    if (Object.hasOwn(this.#types, type) && this.#custom(type, path).required) require();
    try {
      applyMarkers(schema, bar < 0 ? [] : parseMarkers(written.slice(bar + 1)), require);
    } catch (error) {
      throw invalid(path, errorText(error));
    }
    return schema;
  }

  #type(text: string, path: Path, depth: number): StructuralSchema {
    if (depth > maxDepth) throw invalid(path, `types are nested more than ${maxDepth} deep`);
    const type = text.trim();
    if (Object.hasOwn(atoms, type)) return { type: atoms[type] as NonNullable<StructuralSchema["type"]> };
    if (type === "object") return { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    if (type.startsWith("[]")) {
      if (type === "[]") throw invalid(path, "a list needs the type of its elements: []string");
      return { type: "array", items: this.#type(type.slice(2), path, depth + 1) };
    }
    if (type.startsWith("map[")) {
      const value = /^map\[string\](.+)$/.exec(type)?.[1];
      if (value === undefined) throw invalid(path, `${type} is no map type; write map[string] and a type`);
      return { type: "object", additionalProperties: this.#type(value, path, depth + 1) };
    }
    return deepCopy(this.#custom(type, path).schema as never) as StructuralSchema;
  }

  #custom(name: string, path: Path): CustomType {
    const known = this.#known.get(name);
    if (known) return known;
    if (!Object.hasOwn(this.#types, name)) throw invalid(path, `there is no type ${name}`);
    if (this.#underWay.includes(name)) {
      const circle = [...this.#underWay.slice(this.#underWay.indexOf(name)), name].join(" → ");
      throw invalid([...this.#path, name], `types contain each other in a circle: ${circle}`);
    }
    this.#underWay.push(name);
    let required = false;
    const schema = this.#field(this.#types[name], [...this.#path, name], () => {
      required = true;
    });
    this.#underWay.pop();
    const made = { schema, required };
    this.#known.set(name, made);
    return made;
  }
}
