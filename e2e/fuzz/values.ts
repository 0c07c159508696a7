/** Values for a schema: mostly what it asks for, sometimes what nobody should send. */
import type { Chance } from "./random.ts";

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly "x-kubernetes-group-version-kind"?: readonly { group: string; version: string; kind: string }[];
}

export type Schemas = Readonly<Record<string, Schema>>;

const maxDepth = 9;

export const names = ["a", "b", "c", "default", "kube-system", "n-1", "a.b"];

const strings = [
  "",
  "a",
  "A",
  "a-b.c",
  "1",
  "100m",
  "1Gi",
  "5s",
  "*/5 * * * *",
  "2026-01-01T00:00:00Z",
  "10.0.0.1",
  "fd00::/8",
  "TCP",
  "IfNotPresent",
  "app=web,tier in (a,b)",
  "self.x > 0",
  "^(a+)+$",
  "YQ==",
  "https://127.0.0.1:1/x",
  "kubernetes.io/os",
  "system:masters",
  "*",
];

const hostileStrings = [
  "__proto__",
  "constructor",
  "toString",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\u{1f600}",
  "../../etc/passwd",
  "%2e%2e",
  "9".repeat(400),
  "a".repeat(70_000),
  "-".repeat(300),
  "\n\r\t",
  '\\"',
  'k:{"name":"x"}',
  "1e999999999",
  "-1",
  "true",
  "null",
];

const numbers = [0, 1, -1, 2, 80, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 0.5, -0];

export function hostileValue(chance: Chance, depth = 0): unknown {
  switch (chance.below(9)) {
    case 0:
      return null;
    case 1:
      return chance.of(hostileStrings);
    case 2:
      return chance.of(numbers);
    case 3:
      return chance.is(0.5);
    case 4:
      return [];
    case 5:
      return {};
    case 6:
      return depth > 3 ? [] : Array.from({ length: chance.below(6) }, () => hostileValue(chance, depth + 1));
    case 7:
      return depth > 3
        ? {}
        : Object.fromEntries(
            Array.from({ length: chance.below(5) }, () => [
              chance.of([...names, ...hostileStrings]),
              hostileValue(chance, depth + 1),
            ]),
          );
    default:
      return nested(chance.of([10, 200, 2_000]));
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

/** A value of this schema; each part is something else with the probability `wrong`. */
export function valueFor(
  schema: Schema,
  schemas: Schemas,
  chance: Chance,
  wrong: number,
  depth = 0,
): unknown {
  if (chance.is(wrong)) return hostileValue(chance);
  const found = resolved(schema, schemas);
  if (found.enum?.length) return chance.of(found.enum);
  if (found.oneOf?.length) return valueFor(chance.of(found.oneOf), schemas, chance, wrong, depth);
  switch (found.type) {
    case "string":
      return chance.is(wrong) ? chance.of(hostileStrings) : textFor(found.format, chance);
    case "integer":
    case "number":
      return chance.of(numbers);
    case "boolean":
      return chance.is(0.5);
    case "array":
      return depth > maxDepth
        ? []
        : Array.from({ length: chance.below(4) }, () =>
            valueFor(found.items ?? {}, schemas, chance, wrong, depth + 1),
          );
    default:
      return objectFor(found, schemas, chance, wrong, depth);
  }
}

function objectFor(schema: Schema, schemas: Schemas, chance: Chance, wrong: number, depth: number): unknown {
  const out: Record<string, unknown> = Object.create(null);
  if (depth > maxDepth) return out;
  const required = new Set(schema.required);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const wanted = required.has(name) ? 0.95 : depth === 0 ? 0.7 : 0.2;
    if (chance.is(wanted)) out[name] = valueFor(property, schemas, chance, wrong, depth + 1);
  }
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object")
    for (let i = chance.below(3); i > 0; i--)
      out[chance.of(names)] = valueFor(additionalProperties, schemas, chance, wrong, depth + 1);
  if (chance.is(wrong)) out[chance.of(hostileStrings)] = hostileValue(chance);
  return out;
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  return ref === undefined ? schema : (schemas[ref.slice(ref.lastIndexOf("/") + 1)] ?? schema);
}

function textFor(format: string | undefined, chance: Chance): string {
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  if (format === "byte") return Buffer.from(chance.of(strings)).toString("base64");
  return chance.of(strings);
}

/** The same value with a few parts replaced, removed or repeated. */
export function mutated(value: unknown, chance: Chance): unknown {
  if (typeof value !== "object" || value === null || chance.is(0.05)) return hostileValue(chance);
  if (Array.isArray(value)) {
    if (value.length === 0 || chance.is(0.2)) return [...value, ...value, hostileValue(chance)];
    const at = chance.below(value.length);
    return value.map((item, index) => (index === at ? mutated(item, chance) : item));
  }
  const keys = Object.keys(value);
  const key = keys.length === 0 ? "x" : chance.of(keys);
  const out: Record<string, unknown> = Object.assign(Object.create(null), value);
  if (chance.is(0.1)) delete out[key];
  else out[key] = mutated(out[key], chance);
  return out;
}
