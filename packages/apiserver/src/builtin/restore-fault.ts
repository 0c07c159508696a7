/**
 * What the server says of a patched or applied object that does not fit its kind: there it turns values into
 * structures, where of a body it reads text.
 */
import { isRawNumber, type JsonValue } from "@keelson/core";
import { goFieldType, goTypeOf } from "./go-types.ts";
import { DecodeError, isObject, jsonType, scalarValue } from "./scalars.ts";
import { type Scalar, type Shape, shapeOf } from "./shape.ts";

/** `undefined` when everything fits. */
export function restoreFault(shape: Shape, value: JsonValue, type = goTypeOf(shape)): string | undefined {
  if (value === null) return undefined;
  switch (shape.type) {
    case "any":
      return undefined;
    case "scalar":
      return scalarFault(shape.scalar, value, type);
    case "list":
      if (!Array.isArray(value)) return `cannot restore slice from ${goKind(value)}`;
      return first(value, (item) => restoreFault(shape.items, item, inner(type, shape.items)));
    case "map":
      if (!isObject(value)) return `cannot restore map from ${goKind(value)}`;
      return first(Object.values(value), (item) =>
        restoreFault(shape.values, item as JsonValue, inner(type, shape.values)),
      );
    case "schema-or":
      if (isObject(value)) return restoreFault(shapeOf(shape.schema), value);
      return shape.other === "bool" && typeof value !== "boolean"
        ? "boolean or JSON schema expected"
        : undefined;
    case "struct":
      if (!isObject(value)) return `cannot restore struct from: ${goKind(value)}`;
      return first(shape.fields, (field) =>
        Object.hasOwn(value, field.name)
          ? restoreFault(field.shape, value[field.name] as JsonValue, goFieldType(shape, field))
          : undefined,
      );
  }
}

function first<T>(items: readonly T[], fault: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = fault(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function scalarFault(scalar: Scalar, value: JsonValue, type: string): string | undefined {
  try {
    scalarValue(scalar, value);
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { mismatch } = error;
    switch (scalar) {
      case "string":
      case "bool":
      case "int32":
      case "int64":
      case "float64": {
        const kind = goKind(value);
        // Go could turn these into each other, JSON does not.
        const related = scalar === "string" ? kind === "int64" : kind === "float64" && scalar !== "bool";
        return related ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${scalar}`;
      }
      case "bytes":
        if (typeof value === "string") return `error decoding from json: ${error.message}`;
        return `cannot restore slice from ${goKind(value)}`;
      default:
        return mismatch
          ? `json: cannot unmarshal ${mismatch.found} into Go value of type ${mismatch.type}`
          : error.message;
    }
  }
}

function goKind(value: JsonValue): string {
  const type = jsonType(value);
  if (type === "object") return "map";
  if (type === "array") return "slice";
  if (type !== "number") return type;
  return isRawNumber(value) || Number.isInteger(value) ? "int64" : "float64";
}

/** What a list or map of a named type holds. */
function inner(type: string, items: Shape): string {
  return /^(?:\[\]|map\[string\])(.+)$/.exec(type)?.[1] ?? goTypeOf(items);
}
