/** What an empty list or map becomes by being stored: protobuf does not tell it from one that is not there. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { type Shape, type StructShape, shapeOf } from "./shape.ts";

/** Turns empty collections into the null that is printed for them, in place. */
type Settle = (value: JsonValue) => void;

const settlers = new Map<StructShape, Settle | undefined>();

/** Absent for a definition in which nothing can become null. */
export function settlerOf(definition: string): Settle | undefined {
  return compile(shapeOf(definition));
}

function compile(shape: Shape): Settle | undefined {
  switch (shape.type) {
    case "list": {
      const items = compile(shape.items);
      return items && ((value) => (value as JsonValue[] | null)?.forEach(items));
    }
    case "map": {
      const values = compile(shape.values);
      return values && ((value) => Object.values((value as JsonObject | null) ?? {}).forEach(values));
    }
    case "struct":
      return compileStruct(shape);
    default:
      return undefined;
  }
}

function compileStruct(shape: StructShape): Settle | undefined {
  if (settlers.has(shape)) return settlers.get(shape);
  settlers.set(shape, undefined);
  const steps: (readonly [name: string, nullable: boolean, inner: Settle | undefined])[] = [];
  for (const field of shape.fields) {
    const collection = field.shape.type === "list" || field.shape.type === "map";
    const nullable = field.emptyIsNull && collection && !field.omitEmpty;
    const inner = compile(field.shape);
    if (nullable || inner) steps.push([field.name, nullable, inner]);
  }
  const settle: Settle | undefined =
    steps.length === 0
      ? undefined
      : (value) => {
          const object = value as JsonObject | null;
          if (object === null) return;
          for (const [name, nullable, inner] of steps) {
            const child = object[name];
            if (child === undefined || child === null) continue;
            if (nullable && isEmpty(child)) object[name] = null;
            else inner?.(child);
          }
        };
  settlers.set(shape, settle);
  return settle;
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value as JsonObject) return false;
  return true;
}
