/**
 * Validates a value against a schema, in the words and with the peculiarities of the real server.
 *
 * On update, a part that did not change keeps its faults without complaint (ratcheting).
 */
import { deepEqual, isRawNumber, type JsonObject, type JsonValue } from "@keelson/core";
import {
  type FieldError,
  invalidField,
  notSupportedField,
  requiredField,
  tooLongField,
  tooManyField,
  typeInvalidField,
} from "../contracts/field-error.ts";
import { matchesPattern, patternBudget } from "../validation/checks/pattern.ts";
import { hasFormat } from "./formats.ts";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

interface Result {
  readonly errors: FieldError[];
  /** How much of the schema was looked at: decides which alternative's faults are shown. */
  count: number;
}

/** Stands for a value that has no counterpart in the old object. */
const none = Symbol("none");
type Old = JsonValue | typeof none;

export interface ValueContext {
  /** Put before every field, as `spec.validation…default`. */
  readonly base?: string;
  readonly old?: JsonValue;
}

export function validateValue(
  schema: JsonSchema,
  value: JsonValue,
  context: ValueContext = {},
): FieldError[] {
  const old = context.old === undefined ? none : context.old;
  return new Validator(context.base).validate(schema, value, old, "").errors;
}

class Validator {
  readonly #base: string | undefined;
  readonly #budget = patternBudget();

  constructor(base: string | undefined) {
    this.#base = base;
  }

  validate(schema: JsonSchema, value: JsonValue, old: Old, path: string): Result {
    // The very part that is stored: whatever is wrong with it is not complained of.
    if (value === old && typeof value === "object" && value !== null) return { errors: [], count: 1 };
    const result = this.#check(schema, value, old, path);
    if (result.errors.length > 0 && old !== none && deepEqual(value, old)) return { errors: [], count: 1 };
    return result;
  }

  #check(schema: JsonSchema, value: JsonValue, old: Old, path: string): Result {
    const result: Result = { errors: [], count: 1 };
    this.#type(schema, value, path, result);
    if (value === null) {
      this.#enum(schema, value, path, result);
      return result;
    }
    this.#composites(schema, value, old, path, result);
    if (typeof value === "string") this.#string(schema, value, path, result);
    else if (isNumber(value)) this.#number(schema, value, path, result);
    else if (Array.isArray(value)) this.#array(schema, value, old, path, result);
    this.#enum(schema, value, path, result);
    if (isObject(value) && !isNumber(value)) this.#object(schema, value, old, path, result);
    return result;
  }

  #type(schema: JsonSchema, value: JsonValue, path: string, result: Result): void {
    const expected = typesOf(schema);
    if (expected.length === 0) return;
    result.count += 2;
    const actual = typeOf(value);
    if (value === null) {
      if (!schema.nullable) result.errors.push(this.#typeError(path, expected.join(","), "null"));
      return;
    }
    if (expected.includes(actual) || (actual === "integer" && expected.includes("number"))) return;
    // A string may have any format, whatever the type says; the format is checked by itself.
    if (schema.format && !expected.some((type) => type === "number" || type === "integer")) {
      if (typeof value === "string" || Array.isArray(value)) return;
    }
    const isFormatted = actual === "number" && expected[0] === "integer" && schema.format !== undefined;
    result.errors.push(
      isFormatted
        ? this.#typeError(path, schema.format as string, "float64")
        : this.#typeError(path, expected.join(","), actual),
    );
  }

  #string(schema: JsonSchema, value: string, path: string, result: Result): void {
    result.count += 2;
    const { maxLength, minLength, pattern, format } = schema;
    // Of these three, only what is found first is told.
    const length = maxLength !== undefined || minLength !== undefined ? [...value].length : 0;
    if (maxLength !== undefined && length > maxLength)
      result.errors.push(tooLongField(this.#field(path), maxLength));
    else if (minLength !== undefined && length < minLength)
      result.errors.push(this.#invalid(path, value, `should be at least ${minLength} chars long`));
    else if (pattern) this.#pattern(pattern, value, path, result);
    if (format && !hasFormat(format, value))
      result.errors.push(
        typeInvalidField(
          this.#field(path),
          value,
          `${path} in body must be of type ${format}: ${JSON.stringify(value)}`,
        ),
      );
  }

  #pattern(pattern: string, value: string, path: string, result: Result): void {
    const matches = matchesPattern(pattern, value, this.#budget);
    if (matches === undefined)
      result.errors.push(
        this.#invalid(path, value.slice(0, 100), `is too long to be matched against '${pattern}'`),
      );
    else if (!matches) result.errors.push(this.#invalid(path, value, `should match '${pattern}'`));
  }

  #number(schema: JsonSchema, value: JsonValue, path: string, result: Result): void {
    result.count += 2;
    const number = numberOf(value);
    const { multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum } = schema;
    const range = outOfRange(schema, value);
    if (range) result.errors.push(this.#plain(`Checked value must be of type ${range} in ${path}`));
    if (multipleOf && !isMultiple(number, multipleOf))
      result.errors.push(this.#invalid(path, value, `should be a multiple of ${multipleOf}`));
    if (minimum !== undefined && (exclusiveMinimum ? number <= minimum : number < minimum))
      result.errors.push(
        this.#invalid(
          path,
          value,
          `should be greater than ${exclusiveMinimum ? "" : "or equal to "}${minimum}`,
        ),
      );
    if (maximum !== undefined && (exclusiveMaximum ? number >= maximum : number > maximum))
      result.errors.push(
        this.#invalid(path, value, `should be less than ${exclusiveMaximum ? "" : "or equal to "}${maximum}`),
      );
  }

  #array(schema: JsonSchema, value: JsonValue[], old: Old, path: string, result: Result): void {
    result.count += 2;
    const items = itemsOf(schema);
    if (items) {
      const before = oldItems(schema, old);
      for (const [i, item] of value.entries())
        merge(result, this.validate(items, item, before(item), `${path}[${i}]`));
    }
    const { minItems, maxItems } = schema;
    if (minItems !== undefined && value.length < minItems)
      result.errors.push(this.#invalid(path, value.length, `should have at least ${minItems} items`));
    if (maxItems !== undefined && value.length > maxItems)
      result.errors.push(tooManyField(this.#field(path), value.length, maxItems));
    if (schema.uniqueItems && hasDuplicates(value))
      result.errors.push(this.#invalid(path, "", "shouldn't contain duplicates"));
  }

  #object(schema: JsonSchema, value: JsonObject, old: Old, path: string, result: Result): void {
    result.count += 1;
    const keys = Object.keys(value);
    const { minProperties, maxProperties, properties = {}, required = [] } = schema;
    if (minProperties !== undefined && keys.length < minProperties)
      result.errors.push(
        this.#invalid(path, keys.length, `should have at least ${minProperties} properties`),
      );
    if (maxProperties !== undefined && keys.length > maxProperties)
      result.errors.push(tooManyField(this.#field(path), keys.length, maxProperties));
    const before = (key: string): Old => {
      if (schema["x-kubernetes-map-type"] === "atomic" || old === none || !isObject(old)) return none;
      const item = Object.hasOwn(old, key) ? old[key] : undefined;
      return item === undefined ? none : item;
    };
    const additional = additionalSchema(schema);
    for (const key of keys) {
      const item = value[key] as JsonValue;
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const at = property ? (path ? `${path}.${key}` : key) : `${path}.${key}`;
      const sub = property ?? additional;
      if (sub) merge(result, this.validate(sub, item, before(key), at));
      else if (schema.additionalProperties === false)
        result.errors.push(this.#plain(`${path}.${key} in body is a forbidden property`));
    }
    for (const key of required)
      if (!Object.hasOwn(value, key)) result.errors.push(requiredField(this.#field(`${path}.${key}`)));
  }

  #composites(schema: JsonSchema, value: JsonValue, old: Old, path: string, result: Result): void {
    result.count += 2;
    const run = (sub: JsonSchema) => this.validate(sub, value, old, path);
    if (schema.anyOf?.length) {
      const { best, first } = pick(schema.anyOf.map(run), true);
      if (!first) {
        result.errors.push(this.#plain(`"${path}" must validate at least one schema (anyOf)`));
        if (best) merge(result, best);
      } else result.count += first.count;
    }
    if (schema.oneOf?.length) {
      const { best, first, valid } = pick(schema.oneOf.map(run), false);
      if (valid !== 1) {
        const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
        result.errors.push(this.#plain(`"${path}" must validate one and only one schema (oneOf). ${found}`));
        if (best && valid === 0) merge(result, best);
      } else if (first) result.count += first.count;
    }
    if (schema.allOf?.length) {
      const all = schema.allOf.map(run);
      for (const each of all) merge(result, each);
      const failed = all.filter(({ errors }) => errors.length > 0).length;
      if (failed > 0) {
        const none = failed === all.length ? ". None validated" : "";
        result.errors.push(this.#plain(`"${path}" must validate all the schemas (allOf)${none}`));
      }
    }
    if (schema.not && run(schema.not).errors.length === 0)
      result.errors.push(this.#plain(`"${path}" must not validate the schema (not)`));
  }

  #enum(schema: JsonSchema, value: JsonValue, path: string, result: Result): void {
    result.count += 1;
    if (!schema.enum?.length) return;
    if (schema.enum.some((allowed) => deepEqual(allowed, value))) return;
    if (value === null && schema.nullable) return;
    const allowed = schema.enum.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
    result.errors.push(notSupportedField(this.#field(path), value, allowed));
  }

  #field(path: string): string {
    const name = path.startsWith(".") ? path.slice(1) : path;
    if (this.#base === undefined) return name === "" ? "<nil>" : name;
    return name === "" ? this.#base : `${this.#base}.${name}`;
  }

  #invalid(path: string, value: JsonValue, detail: string): FieldError {
    return invalidField(this.#field(path), value, `${path} in body ${detail}`);
  }

  #typeError(path: string, expected: string, actual: string): FieldError {
    return typeInvalidField(
      this.#field(path),
      actual,
      `${path} in body must be of type ${expected}: ${JSON.stringify(actual)}`,
    );
  }

  /** Faults that the real server reports without a field. */
  #plain(message: string): FieldError {
    return invalidField(this.#base ?? "<nil>", "", message);
  }
}

function merge(into: Result, from: Result): void {
  into.errors.push(...from.errors);
  into.count += from.count;
}

function pick(results: readonly Result[], stopAtFirst: boolean) {
  let best: Result | undefined;
  let first: Result | undefined;
  let valid = 0;
  for (const result of results) {
    if (result.errors.length === 0) {
      valid++;
      first ??= result;
      if (stopAtFirst) break;
    } else if (!first && (!best || result.count > best.count)) best = result;
  }
  return { best, first, valid };
}

function typesOf(schema: JsonSchema): string[] {
  if (schema["x-kubernetes-int-or-string"]) return ["integer", "string"];
  return schema.type ? [schema.type] : [];
}

function isNumber(value: JsonValue): boolean {
  return typeof value === "number" || isRawNumber(value);
}

function numberOf(value: JsonValue): number {
  return typeof value === "number" ? value : Number((value as { rawJSON?: string }).rawJSON);
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  // Beyond 64 bits there are no integers, only floating points.
  if (typeof value === "number") return isInt64(value) ? "integer" : "number";
  if (isRawNumber(value)) return isInt64(value.rawJSON) ? "integer" : "number";
  return typeof value;
}

function isInt64(value: number | string): boolean {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
  const big = BigInt(value);
  return BigInt.asIntN(64, big) === big;
}

function outOfRange(schema: JsonSchema, value: JsonValue): string | undefined {
  const number = numberOf(value);
  if (schema["x-kubernetes-int-or-string"]) return undefined;
  if (schema.type === "integer") {
    if (typeOf(value) !== "integer") {
      const known = schema.format === "int32" || schema.format === "int64";
      return known ? `integer with format ${schema.format}` : "integer (default format)";
    }
    if (schema.format === "int32" && (number > 2147483647 || number < -2147483648))
      return "integer with format int32";
  }
  if (schema.type === "number" && schema.format === "float" && Math.abs(number) > 3.4028234663852886e38)
    return "number with format float";
  return undefined;
}

function isMultiple(value: number, factor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const ratio = factor < 1 ? (1 / factor) * value : value / factor;
  const nearest = Math.round(ratio);
  // Floating points are whole within a billionth.
  return ratio === nearest || Math.abs(ratio - nearest) / (Math.abs(ratio) + Math.abs(nearest)) < 1e-9;
}

function hasDuplicates(items: readonly JsonValue[]): boolean {
  return items.some((item, i) => items.slice(i + 1).some((other) => deepEqual(item, other)));
}

/** Finds an item's counterpart: only lists of type map have one, by their keys. */
function oldItems(schema: JsonSchema, old: Old): (item: JsonValue) => Old {
  if (old === none || !Array.isArray(old) || schema["x-kubernetes-list-type"] !== "map") return () => none;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const idOf = (item: JsonValue) =>
    isObject(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : undefined;
  const byId = new Map(old.map((item) => [idOf(item), item]));
  return (item) => {
    const id = idOf(item);
    const found = id === undefined ? undefined : byId.get(id);
    return found === undefined ? none : found;
  };
}
