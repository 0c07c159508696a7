/** Field builders for what Kubernetes schemas can say and zod alone cannot. */
import { z } from "zod";
import type { StructuralSchema, ValidationRule } from "./crd-object.ts";

/** What a zod schema adds to its structural form. Inherited by refinements of the same schema. */
export interface StructuralHint {
  /** Replaces the form that would follow from the zod type. */
  replace?: StructuralSchema;
  /** Adds to the form that follows from the zod type. */
  extend?: StructuralSchema;
}

export const structuralHints: z.core.$ZodRegistry<StructuralHint> = z.registry<StructuralHint>();

/** CEL rules ride on zod checks, so that they sit where the value is declared. */
const celRules = new WeakMap<object, ValidationRule>();

/** The rule behind a check made by `cel()`, or undefined for any other check. */
export function ruleOf(check: object): ValidationRule | undefined {
  return celRules.get(check);
}

/** The message of a CEL rule, and where it is reported. */
export interface CelOptions {
  readonly reason?: ValidationRule["reason"];
  /** Where the error is reported, relative to this value: `.size`. */
  readonly fieldPath?: string;
  /** An expression for the message. */
  readonly messageExpression?: string;
  /** Runs a rule with `oldSelf` on creation too; `oldSelf` is then optional. */
  readonly optionalOldSelf?: boolean;
}

/**
 * A validation rule in CEL, checked by the API server: `z.int().check(cel("self >= oldSelf", "cannot shrink"))`.
 * Locally it always passes: what the server decides is tested against the embedded API server.
 */
export function cel<T = unknown>(
  rule: string,
  message: string,
  options: CelOptions = {},
): z.core.$ZodCheck<T> {
  const check = z.check<T>(() => {});
  celRules.set(check, { rule, message, ...options });
  return check;
}

/** The value may be set once and never changed. */
export function immutable<T = unknown>(message = "field is immutable"): z.core.$ZodCheck<T> {
  return cel<T>("self == oldSelf", message);
}

const QUANTITY =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/** An amount with a unit, as Kubernetes writes it: `500m`, `1Gi`, 2. */
export function quantity(): z.ZodUnion<readonly [z.ZodString, z.ZodInt]> {
  return z
    .union([z.string().regex(new RegExp(QUANTITY), "must be a quantity such as 500m or 1Gi"), z.int()])
    .register(structuralHints, {
      replace: {
        anyOf: [{ type: "integer" }, { type: "string" }],
        pattern: QUANTITY,
        "x-kubernetes-int-or-string": true,
      },
    });
}

/** A whole number or a string, as a port or a percentage: 80, `http`, `25%`. */
export function intOrString(): z.ZodUnion<readonly [z.ZodInt, z.ZodString]> {
  return z.union([z.int(), z.string()]).register(structuralHints, {
    replace: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
  });
}

/** A span of time in Go's form: `300ms`, `1h30m`. */
export function duration(): z.ZodString {
  return z
    .string()
    .regex(/^-?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$/, "must be a duration such as 300ms or 1h30m")
    .register(structuralHints, { replace: { type: "string", format: "duration" } });
}

/** A list whose items are found by keys, merged item by item and unique: ports by name, conditions by type. */
export function listMap<T extends z.ZodObject>(
  item: T,
  options: { readonly keys: readonly (keyof z.output<T> & string)[] },
): z.ZodArray<T> {
  return z
    .array(item)
    .refine((items) => new Set(items.map((each) => keyTuple(each, options.keys))).size === items.length, {
      error: `items must differ in ${options.keys.join(", ")}`,
    })
    .register(structuralHints, {
      extend: { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...options.keys] },
    });
}

function keyTuple(item: Readonly<Record<string, unknown>>, keys: readonly string[]): string {
  return JSON.stringify(keys.map((key) => item[key] ?? null));
}

/** A list of different scalars, owned one by one. */
export function set<T extends z.ZodType>(item: T): z.ZodArray<T> {
  return z
    .array(item)
    .refine((items) => new Set(items).size === items.length, { error: "items must differ" })
    .register(structuralHints, { extend: { "x-kubernetes-list-type": "set" } });
}

/** A list or object that has one owner as a whole: an apply replaces all of it. */
export function atomic<T extends z.ZodType>(schema: T): T {
  const copy = schema.clone(schema._zod.def as never, { parent: true }) as T;
  structuralHints.add(copy, {
    extend:
      schema._zod.def.type === "array"
        ? { "x-kubernetes-list-type": "atomic" }
        : { "x-kubernetes-map-type": "atomic" },
  });
  return copy;
}

/** Any JSON below this point, stored as it is. */
export function preserveUnknown(): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return z
    .record(z.string(), z.unknown())
    .register(structuralHints, { replace: { type: "object", "x-kubernetes-preserve-unknown-fields": true } });
}

/** A whole Kubernetes object inside another: a pod template, say. */
export function embedded(): z.ZodObject<
  {
    apiVersion: z.ZodString;
    kind: z.ZodString;
    metadata: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnknown>>;
  },
  z.core.$loose
> {
  return z
    .looseObject({
      apiVersion: z.string(),
      kind: z.string(),
      metadata: z.record(z.string(), z.unknown()).optional(),
    })
    .register(structuralHints, {
      replace: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
    });
}
