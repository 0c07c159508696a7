/**
 * Finds what Go would say of a body that does not fit its kind. Values of the wrong type are noted and reading
 * goes on, in the order in which they are written; what a type reads by itself (quantities, times) ends it.
 */
import type { JsonObject, JsonValue } from "@keelson/core";
import { goFieldPath, goFieldType, goTypeOf } from "./go-types.ts";
import { DecodeError, isObject, jsonType, scalarValue } from "./scalars.ts";
import { type Shape, type StructShape, shapeOf } from "./shape.ts";

/** Where a value stands: the structure that holds it, its path, its Go type. */
interface Place {
  readonly owner: string;
  readonly path: string;
  readonly type: string;
}

export function firstFault(shape: Shape, value: JsonValue): DecodeError | undefined {
  const search = new Search();
  try {
    search.value(shape, value, { owner: "", path: "", type: goTypeOf(shape) });
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
  return search.noted;
}

class Search {
  noted: DecodeError | undefined;

  value(shape: Shape, value: JsonValue, place: Place): void {
    if (value === null) return;
    switch (shape.type) {
      case "any":
        return;
      case "scalar":
        this.#scalar(shape, value, place);
        return;
      case "list":
        if (!Array.isArray(value)) this.#note(value, place);
        else
          for (const item of value)
            this.value(shape.items, item, { ...place, type: element(place, shape.items) });
        return;
      case "map":
        if (!isObject(value)) this.#note(value, place);
        else
          for (const item of Object.values(value))
            this.value(shape.values, item as JsonValue, { ...place, type: element(place, shape.values) });
        return;
      case "schema-or":
        this.#schemaOr(shape, value, place);
        return;
      case "struct":
        if (!isObject(value)) this.#note(value, place);
        else this.#struct(shape, value, place.path);
    }
  }

  #struct(shape: StructShape, value: JsonObject, path: string): void {
    for (const [key, item] of Object.entries(value)) {
      const field = shape.fields.find(({ name }) => name === key);
      if (!field) continue;
      const name = goFieldPath(shape, field);
      this.value(field.shape, item as JsonValue, {
        owner: shape.name,
        path: path ? `${path}.${name}` : name,
        type: goFieldType(shape, field),
      });
    }
  }

  #schemaOr(shape: Extract<Shape, { type: "schema-or" }>, value: JsonValue, place: Place): void {
    const schema = shapeOf(shape.schema);
    if (isObject(value)) this.value(schema, value, place);
    else if (shape.other === "bool" && typeof value !== "boolean")
      throw new DecodeError("boolean or JSON schema expected");
    else if (Array.isArray(value)) {
      const items: Shape = shape.other === "schemas" ? schema : { type: "scalar", scalar: "string" };
      for (const item of value) this.value(items, item, { ...place, type: goTypeOf(items) });
    }
  }

  #scalar(shape: Extract<Shape, { type: "scalar" }>, value: JsonValue, place: Place): void {
    try {
      scalarValue(shape.scalar, value);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const { mismatch } = error;
      if (!mismatch) {
        // A type that reads itself ends the reading; plain bytes only note what is wrong.
        if (shape.scalar !== "bytes") throw error;
        this.noted ??= error;
        return;
      }
      const { found, type = place.type } = mismatch;
      const placed = wrongType(found, { ...place, type });
      if (selfReading.has(shape.scalar)) throw placed;
      this.noted ??= placed;
    }
  }

  #note(value: JsonValue, place: Place): void {
    this.noted ??= wrongType(jsonType(value), place);
  }
}

const selfReading = new Set(["int-or-string", "time", "microtime", "duration", "quantity"]);

function wrongType(found: string, place: Place): DecodeError {
  const where = place.owner ? `Go struct field ${place.owner}.${place.path}` : "Go value";
  return new DecodeError(`json: cannot unmarshal ${found} into ${where} of type ${place.type}`);
}

/** The type of what a list or map of a named type holds is known from the shape alone. */
function element(place: Place, items: Shape): string {
  const inner = /^(?:\[\]|map\[string\])(.+)$/.exec(place.type)?.[1];
  return inner?.includes(".") && items.type === "scalar" ? inner : goTypeOf(items);
}
