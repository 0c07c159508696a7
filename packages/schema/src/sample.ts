/** Random objects that a schema allows, for tests by the hundred. CEL rules are the server's and are not looked at. */
import type { JsonObject, JsonValue, KubeObject, Random } from "@keelson/core";
import type { z } from "zod";
import { SchemaError } from "./errors.ts";
import { sampleString } from "./sample-string.ts";

type Schema = z.core.$ZodTypes;

/** Which sample object is made. */
export interface SampleOptions {
  readonly random: Random;
  /** Default: the stored version. */
  readonly version?: string;
  /** Values for strings by path (`spec.image`), where a pattern is beyond the generator. */
  readonly strings?: Readonly<Record<string, readonly string[]>>;
}

/** What is sampled: the value that `resource()` returns. */
interface Sampled {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
  readonly versions: Readonly<Record<string, { readonly spec: z.ZodType; readonly status?: z.ZodType }>>;
}

/** An object of the resource with every default filled in, as the server would hand it out. */
export function sampleObject(resource: Sampled, options: SampleOptions): KubeObject {
  const version = options.version ?? resource.version;
  const definition = resource.versions[version];
  if (!definition) throw new SchemaError("UnknownVersion", resource.kind, `there is no version "${version}"`);
  const sampler = new Sampler(options);
  const status = definition.status && options.random.next() < 0.8 ? definition.status : undefined;
  return {
    apiVersion: `${resource.group}/${version}`,
    kind: resource.kind,
    metadata: { name: "sample", namespace: "default" },
    spec: sampler.value(definition.spec as unknown as Schema, "spec"),
    ...(status ? { status: sampler.value(status as unknown as Schema, "status") } : {}),
  } as KubeObject;
}

class Sampler {
  readonly #random: Random;
  readonly #strings: Readonly<Record<string, readonly string[]>>;

  constructor({ random, strings = {} }: SampleOptions) {
    this.#random = random;
    this.#strings = strings;
  }

  value(schema: Schema, path: string): JsonValue {
    const def = schema._zod.def;
    switch (def.type) {
      case "string":
        return this.#string(schema, path);
      case "number":
        return this.#number(schema);
      case "boolean":
        return this.#random.next() < 0.5;
      case "enum":
        return this.#pick(Object.values(def.entries) as JsonValue[]);
      case "literal":
        return this.#pick([...def.values] as JsonValue[]);
      case "array":
        return this.#array(schema as z.core.$ZodArray, path);
      case "record":
        return this.#record(def.valueType as Schema, path);
      case "object":
        return this.#object(schema as z.core.$ZodObject, path);
      case "union":
        return this.value(this.#pick(def.options as readonly Schema[]), path);
      case "nullable":
        return this.#random.next() < 0.2 ? null : this.value(def.innerType as Schema, path);
      case "optional":
      case "nonoptional":
      case "readonly":
      case "default":
        return this.value(def.innerType as Schema, path);
      case "unknown":
      case "any":
        return this.#pick<JsonValue>(["text", 7, true, { nested: ["a", "b"] }]);
      default:
        throw new SchemaError("NoSample", path, `z.${def.type}() cannot be sampled`);
    }
  }

  #string(schema: Schema, path: string): string {
    const given = this.#strings[path];
    if (given && given.length > 0) return this.#pick(given);
    return sampleString(schema, path, this.#random);
  }

  #number(schema: Schema): number {
    const { least, most, step } = rangeOf(schema);
    // Half of all draws are at a bound: that is where mistakes live.
    const edge = this.#random.next();
    const place = edge < 0.25 ? 0 : edge < 0.5 ? 1 : this.#random.next();
    if (step === 0) return least + (0.001 + place * 0.998) * (most - least);
    const [first, last] = [Math.ceil(least / step), Math.floor(most / step)];
    return (first + Math.round(place * (last - first))) * step;
  }

  #array(schema: z.core.$ZodArray, path: string): JsonValue[] {
    let [least, most] = [0, 3];
    for (const check of checksOf(schema as unknown as Schema)) {
      const def = check._zod.def as unknown as {
        check: string;
        minimum?: number;
        maximum?: number;
        length?: number;
      };
      if (def.check === "min_length") least = def.minimum as number;
      if (def.check === "max_length") most = Math.min(most, def.maximum as number);
      if (def.check === "length_equals") [least, most] = [def.length as number, def.length as number];
    }
    const length = least + Math.floor(this.#random.next() * (Math.max(most, least) - least + 1));
    const items: JsonValue[] = [];
    // Lists by key and sets refuse repetitions: draw again, and be content with fewer where there are no more.
    for (let tries = 0; items.length < length && tries < 20 * length; tries++) {
      const next = this.value(schema._zod.def.element as Schema, `${path}[]`);
      const { success } = (schema as unknown as z.ZodType).safeParse([...items, next]);
      if (success || items.length + 1 < least) items.push(next);
    }
    return items;
  }

  #record(value: Schema, path: string): JsonObject {
    const count = Math.floor(this.#random.next() * 3);
    return Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`key-${index}`, this.value(value, `${path}.*`)]),
    );
  }

  #object(schema: z.core.$ZodObject, path: string): JsonObject {
    const out: JsonObject = {};
    for (const [name, property] of Object.entries(schema._zod.def.shape)) {
      if (isOptional(property as Schema) && this.#random.next() < 0.4) continue;
      out[name] = this.value(property as Schema, `${path}.${name}`);
    }
    return out;
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random.next() * values.length)] as T;
  }
}

/** Bounds that may be reached, and the distance between two values; 0 where any value between them will do. */
function rangeOf(schema: Schema): { least: number; most: number; step: number } {
  const checks = checksOf(schema).map(
    (check) => check._zod.def as unknown as { check: string; value: number; inclusive: boolean },
  );
  const format = (schema._zod.def as { format?: string }).format ?? "";
  const whole =
    format.includes("int") ||
    checks.some(({ check, ...def }) => check === "number_format" && "format" in def);
  const step = checks.find(({ check }) => check === "multiple_of")?.value ?? (whole ? 1 : 0);
  const lower = checks.filter(({ check }) => check === "greater_than").map((def) => bound(def, step));
  const upper = checks.filter(({ check }) => check === "less_than").map((def) => bound(def, -step));
  const least =
    lower.length > 0 ? Math.max(...lower) : upper.length > 0 ? Math.min(...upper) - 1_000 : -1_000;
  return { least, most: upper.length > 0 ? Math.min(...upper) : least + 2_000, step };
}

function bound({ value, inclusive }: { value: number; inclusive: boolean }, step: number): number {
  return inclusive ? value : value + step;
}

/** May be absent from an object that the server hands out: what has a default is there. */
function isOptional(schema: Schema): boolean {
  const def = schema._zod.def;
  if (def.type === "optional") return true;
  return def.type === "nullable" || def.type === "readonly" ? isOptional(def.innerType as Schema) : false;
}

function checksOf(schema: Schema): readonly z.core.$ZodCheck[] {
  return (schema._zod.def as { checks?: readonly z.core.$ZodCheck[] }).checks ?? [];
}
