/** Static types: what the checker infers, and how it spells them. */
import type { CostRange, SizeRange } from "./cost-range.ts";

export type TypeKind =
  | "dyn"
  | "error"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "any"
  | "list"
  | "map"
  | "object"
  | "opaque"
  | "type"
  | "param";

/** A type of CEL. */
export interface CelType {
  readonly kind: TypeKind;
  /** The name at run time: `google.protobuf.Timestamp`, `list`, an object's name, a parameter's letter. */
  readonly name: string;
  readonly params: readonly CelType[];
  /** What `==` may cost, from the right side's size, for types that are not compared by reading them through. */
  readonly equalityCost?: (right: SizeRange | undefined) => CostRange;
}

function simple(kind: TypeKind, name: string): CelType {
  return Object.freeze({ kind, name, params: Object.freeze([]) });
}

const dyn = simple("dyn", "dyn");

/** The simple types of CEL. */
export const types = {
  dyn,
  any: simple("any", "google.protobuf.Any"),
  error: simple("error", "*error*"),
  null: simple("null", "null_type"),
  bool: simple("bool", "bool"),
  int: simple("int", "int"),
  uint: simple("uint", "uint"),
  double: simple("double", "double"),
  string: simple("string", "string"),
  bytes: simple("bytes", "bytes"),
  timestamp: simple("timestamp", "google.protobuf.Timestamp"),
  duration: simple("duration", "google.protobuf.Duration"),
  type: simple("type", "type"),
  anyList: Object.freeze({ kind: "list", name: "list", params: Object.freeze([dyn]) }) as CelType,
  anyMap: Object.freeze({ kind: "map", name: "map", params: Object.freeze([dyn, dyn]) }) as CelType,
  anyOptional: Object.freeze({
    kind: "opaque",
    name: "optional_type",
    params: Object.freeze([dyn]),
  }) as CelType,
} as const;

/** The type of lists of a type. */
export function listType(element: CelType): CelType {
  return { kind: "list", name: "list", params: [element] };
}

/** The type of maps from one type to another. */
export function mapType(key: CelType, value: CelType): CelType {
  return { kind: "map", name: "map", params: [key, value] };
}

/** The type of an optional value of a type. */
export function optionalType(value: CelType): CelType {
  return { kind: "opaque", name: "optional_type", params: [value] };
}

/** A type with fields, found by name in the environment. */
export function objectType(name: string): CelType {
  return { kind: "object", name, params: [] };
}

/** A type without fields, known only to functions. */
export function opaqueType(name: string, ...params: CelType[]): CelType {
  return { kind: "opaque", name, params };
}

/** The type of a type: `int` has the type `type(int)`. */
export function typeType(of: CelType): CelType {
  return { kind: "type", name: "type", params: [of] };
}

export function paramType(name: string): CelType {
  return { kind: "param", name, params: [] };
}

export function isOptionalType(type: CelType): boolean {
  return type.kind === "opaque" && type.name === "optional_type";
}

/** Dynamic, or already known to be wrong: nothing more can be said about it. */
export function isDynOrError(type: CelType): boolean {
  return type.kind === "dyn" || type.kind === "any" || type.kind === "error";
}

export function sameType(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((param, i) => sameType(param, b.params[i] as CelType));
}

const spelled: Partial<Record<TypeKind, string>> = {
  any: "any",
  duration: "duration",
  error: "!error!",
  null: "null",
  timestamp: "timestamp",
};

/** A type as messages spell it: `map(string, list(int))`. */
export function formatType(type: CelType): string {
  const short = spelled[type.kind];
  if (short !== undefined) return short;
  if (type.params.length === 0) return type.name;
  return `${type.name}(${type.params.map(formatType).join(", ")})`;
}

/** The arguments of a call as messages spell them: `(int, string)`, or `string.(int)` on a receiver. */
export function formatSignature(args: readonly CelType[], isMember: boolean): string {
  const [target, ...rest] = args;
  if (isMember && target !== undefined) return `${formatType(target)}.(${rest.map(formatType).join(", ")})`;
  return `(${args.map(formatType).join(", ")})`;
}
