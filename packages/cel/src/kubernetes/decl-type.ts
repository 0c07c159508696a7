/** What a structural schema means to an expression: types of fields, and bounds on their sizes. */
import { byteLength } from "@keelson/core/internal";
import type { CostNode } from "../check/cost.ts";
import type { ObjectDecl } from "../check/environment.ts";
import type { SizeRange } from "../values/cost-range.ts";
import { type CelType, listType, mapType, objectType, types } from "../values/types.ts";
import { escapeName, fieldNamed } from "./escaping.ts";
import type { RuleSchema } from "./types.ts";

/** The largest request the API server takes, in bytes. */
const maxRequestBytes = 3 * 1024 * 1024;
const minSize = { string: 2, bool: 4, number: 1, duration: 3, date: 12, dateTime: 21 };
const maxTimeBytes = { duration: 32, date: 12, "date-time": 32 };

/** A schema as an expression sees it. */
export interface DeclType {
  readonly type: CelType;
  /** Of an object: by escaped name. */
  readonly fields: ReadonlyMap<string, DeclType> | undefined;
  readonly key: DeclType | undefined;
  /** Of a list or map. */
  readonly element: DeclType | undefined;
  /** The most characters, elements or entries a value can have. */
  readonly maxElements: number;
  /** The fewest bytes a value takes in JSON. */
  readonly minBytes: number;
}

function simple(type: CelType, minBytes: number, maxElements = 0): DeclType {
  return { type, fields: undefined, key: undefined, element: undefined, maxElements, minBytes };
}

const stringKey = simple(types.string, minSize.string);

/**
 * Undefined where expressions must not look: data without a schema. `name` becomes the type's name, and the
 * start of the names of the types inside.
 */
export function declTypeOf(schema: RuleSchema, isResourceRoot: boolean, name: string): DeclType | undefined {
  if (schema["x-kubernetes-int-or-string"]) {
    const most = schema.maxLength === undefined ? maxRequestBytes - 2 : Math.max(0, schema.maxLength) * 4;
    return simple(types.dyn, 1, most);
  }
  const whole = isResourceRoot ? withTypeAndObjectMeta(schema) : schema;
  switch (whole.type) {
    case "array":
      return listDecl(whole, name);
    case "object":
      return whole.additionalProperties !== undefined && typeof whole.additionalProperties === "object"
        ? mapDecl(whole, whole.additionalProperties, name)
        : objectDecl(whole, name);
    case "string":
      return stringDecl(whole);
    case "boolean":
      return simple(types.bool, minSize.bool);
    case "number":
      return simple(types.double, minSize.number);
    case "integer":
      return simple(types.int, minSize.number);
    default:
      return undefined;
  }
}

function child(schema: RuleSchema, name: string): DeclType | undefined {
  return declTypeOf(schema, schema["x-kubernetes-embedded-resource"] ?? false, name);
}

function listDecl(schema: RuleSchema, name: string): DeclType | undefined {
  const element = schema.items === undefined ? undefined : child(schema.items, `${name}.@idx`);
  if (element === undefined) return undefined;
  const most =
    schema.maxItems === undefined
      ? Math.trunc((maxRequestBytes - 2) / (element.minBytes + 1))
      : Math.max(0, schema.maxItems);
  return { ...simple(listType(element.type), 2, most), element };
}

function mapDecl(schema: RuleSchema, values: RuleSchema, name: string): DeclType | undefined {
  const element = child(values, `${name}.@elem`);
  if (element === undefined) return undefined;
  // Two bytes of key, its quotes, a colon and a comma around each value.
  const most =
    schema.maxProperties === undefined
      ? Math.trunc((maxRequestBytes - 2) / (element.minBytes + 6))
      : Math.max(0, schema.maxProperties);
  return { ...simple(mapType(types.string, element.type), 2, most), key: stringKey, element };
}

function objectDecl(schema: RuleSchema, name: string): DeclType {
  const fields = new Map<string, DeclType>();
  const required = new Set(schema.required);
  let minBytes = 2;
  for (const [property, value] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeName(property);
    const field = child(value, `${name}.${escaped ?? property}`);
    if (field === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, field);
    if (required.has(property) && value.default === undefined) {
      minBytes += byteLength(property) + field.minBytes + 4;
    }
  }
  return { ...simple(objectType(name), minBytes), fields };
}

function stringDecl(schema: RuleSchema): DeclType {
  const longest = maxRequestBytes - 2;
  switch (schema.format) {
    case "byte":
      return simple(
        types.bytes,
        minSize.string,
        schema.maxLength === undefined ? longest : Math.max(0, schema.maxLength),
      );
    case "duration":
      return simple(types.duration, minSize.duration, maxTimeBytes.duration);
    case "date":
      return simple(types.timestamp, minSize.date, maxTimeBytes.date);
    case "date-time":
      return simple(types.timestamp, minSize.dateTime, maxTimeBytes["date-time"]);
    default:
      return simple(types.string, minSize.string, maxStringLength(schema, longest));
  }
}

/** Lengths are given in characters but requests are counted in bytes: four to a character. */
function maxStringLength(schema: RuleSchema, longest: number): number {
  if (schema.maxLength !== undefined) return Math.max(0, schema.maxLength) * 4;
  if (schema.enum === undefined || schema.enum.length === 0) return longest;
  return Math.max(0, ...schema.enum.map((value) => (typeof value === "string" ? byteLength(value) : 0)));
}

const string: RuleSchema = { type: "string" };

/** A resource always has these, whatever its schema says of them. */
export function withTypeAndObjectMeta(schema: RuleSchema): RuleSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const complete =
    kind?.type === "string" &&
    apiVersion?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.name?.type === "string" &&
    metadata.properties.generateName?.type === "string";
  if (complete) return schema;
  return {
    ...schema,
    properties: {
      ...schema.properties,
      kind: string,
      apiVersion: string,
      metadata: { type: "object", properties: { name: string, generateName: string } },
    },
  };
}

/** The object types inside a declaration, for an environment. */
export function* objectDecls(decl: DeclType): IterableIterator<ObjectDecl> {
  const { fields } = decl;
  if (fields !== undefined) {
    yield { name: decl.type.name, fields: { get: (name) => fieldNamed(fields, name)?.type } };
    for (const field of fields.values()) yield* objectDecls(field);
  }
  if (decl.element !== undefined) yield* objectDecls(decl.element);
}

/** The size of what a path leads to; its first step is the variable that `root` declares. */
export function sizeHint(root: DeclType, node: CostNode): SizeRange | undefined {
  if (node.path === undefined || node.path.length === 0) return undefined;
  let at: DeclType | undefined = root;
  for (const step of node.path.slice(1)) {
    if (step === "@items" || step === "@values") at = at.element;
    else if (step === "@keys") at = at.key;
    else at = at.fields && fieldNamed(at.fields, step);
    if (at === undefined) return undefined;
  }
  return { min: 0, max: at.maxElements };
}

/** How often data of at least a size can occur in one request. */
export function maxCardinality(minBytes: number): number {
  return Math.trunc(maxRequestBytes / (minBytes + 1));
}
