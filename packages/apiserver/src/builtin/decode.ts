/** Brings the JSON of a built-in kind to the form in which the real server would print it again. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { setKey } from "@keelson/core/internal";
import { firstFault } from "./first-fault.ts";
import { DecodeError, isObject, mismatch, scalarValue, zeroScalar } from "./scalars.ts";
import { type Field, type Shape, type StructShape, shapeOf } from "./shape.ts";

/** Where fields that no schema knows are written down, as `spec.ports[0].junk`. */
export type UnknownFields = string[];

/**
 * A fresh object of the definition: known fields only, in one order, values in canonical form, empty
 * values present or absent as the server prints them. Throws a DecodeError on a value of the wrong type.
 */
export function decodeBuiltin(definition: string, value: JsonValue, unknown?: UnknownFields): JsonObject {
  const shape = shapeOf(definition);
  if (shape.type !== "struct") throw new Error(`${definition} is no kind`);
  return decodeShape(shape, value, unknown) as JsonObject;
}

/** A value of a definition that is part of a kind, as `io.k8s.api.core.v1.PodSpec`. */
export function decodePart(definition: string, value: JsonValue, unknown?: UnknownFields): JsonValue {
  return decodeShape(shapeOf(definition), value, unknown);
}

function decodeShape(shape: Shape, value: JsonValue, unknown: UnknownFields | undefined): JsonValue {
  try {
    return new Decoder(unknown).value(shape, value, "");
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw firstFault(shape, value) ?? error;
  }
}

class Decoder {
  readonly #unknown: UnknownFields | undefined;

  constructor(unknown: UnknownFields | undefined) {
    this.#unknown = unknown;
  }

  /** `shown` is the path with indices, for unknown fields. */
  value(shape: Shape, value: JsonValue, shown: string): JsonValue {
    switch (shape.type) {
      case "any":
        return copy(value);
      case "scalar":
        return scalarValue(shape.scalar, value);
      case "list": {
        if (!Array.isArray(value)) throw mismatch(value);
        return value.map((item, i) =>
          item === null ? this.#zero(shape.items) : this.value(shape.items, item, `${shown}[${i}]`),
        );
      }
      case "map": {
        if (!isObject(value)) throw mismatch(value);
        const out: JsonObject = {};
        for (const key of Object.keys(value).sort()) {
          const item = value[key] as JsonValue;
          setKey(
            out,
            key,
            item === null ? this.#element(shape.values) : this.value(shape.values, item, `${shown}.${key}`),
          );
        }
        return out;
      }
      case "schema-or":
        return this.#schemaOr(shape, value, shown);
      case "struct":
        if (!isObject(value)) throw mismatch(value);
        return this.#struct(shape, value, shown);
    }
  }

  #struct(shape: StructShape, input: JsonObject, shown: string): JsonObject {
    const out: JsonObject = {};
    for (const field of shape.fields) {
      const raw = Object.hasOwn(input, field.name) ? input[field.name] : undefined;
      if (raw === undefined || raw === null) {
        const absent = this.#absent(field);
        if (absent !== undefined) out[field.name] = absent;
        continue;
      }
      const value = this.value(field.shape, raw, shown ? `${shown}.${field.name}` : field.name);
      if (field.omitEmpty && isEmpty(value)) continue;
      out[field.name] = value;
    }
    if (this.#unknown) {
      for (const key of Object.keys(input))
        if (!shape.names.has(key)) this.#unknown.push(shown ? `${shown}.${key}` : key);
    }
    return out;
  }

  #schemaOr(shape: Extract<Shape, { type: "schema-or" }>, value: JsonValue, shown: string): JsonValue {
    const schema = shapeOf(shape.schema);
    if (isObject(value)) return this.value(schema, value, shown);
    if (shape.other === "bool") {
      if (typeof value !== "boolean") throw mismatch(value);
      return value;
    }
    // Where a list may stand, anything else is read as nothing.
    if (!Array.isArray(value)) return null;
    const items: Shape = shape.other === "schemas" ? schema : { type: "scalar", scalar: "string" };
    return this.value({ type: "list", items }, value, shown);
  }

  #absent(field: Field): JsonValue | undefined {
    if (field.absent === undefined) return undefined;
    return field.absent === "null" ? null : this.#zero(field.shape);
  }

  /** Bytes that are not there are stored as no bytes. */
  #element(shape: Shape): JsonValue {
    return shape.type === "scalar" && shape.scalar === "bytes" ? "" : this.#zero(shape);
  }

  #zero(shape: Shape): JsonValue {
    switch (shape.type) {
      case "struct":
        return this.#struct(shape, {}, "");
      case "scalar":
        return zeroScalar(shape.scalar);
      default:
        return null;
    }
  }
}

function isEmpty(value: JsonValue): boolean {
  if (value === "" || value === 0 || value === false || value === null) return true;
  if (typeof value !== "object") return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

function copy(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if ("rawJSON" in value && Object.getPrototypeOf(value) === null) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) setKey(out, key, copy(value[key] as JsonValue));
  return out;
}
