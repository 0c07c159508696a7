/** Collects field errors in the order in which the rules find them. */
import type { JsonValue } from "@keelson/core";
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  internalField,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
  tooLongField,
  tooManyField,
} from "../../contracts/field-error.ts";

type Value = JsonValue | object | undefined;

/** A value as the server's own types would print it: Go's field names, in their order, absent ones as null. */
export function inGo(value: object | undefined, ...fields: readonly string[]): JsonValue {
  if (!value) return null;
  const source = value as Readonly<Record<string, JsonValue | undefined>>;
  return Object.fromEntries(
    fields.map((field) => [field.slice(0, 1).toUpperCase() + field.slice(1), source[field] ?? null]),
  );
}

export class Errors {
  readonly list: FieldError[] = [];

  required(path: string, detail = ""): void {
    this.list.push(requiredField(path, detail));
  }
  invalid(path: string, value: Value, detail: string): void {
    this.list.push(invalidField(path, shown(value), detail));
  }
  /** One Invalid for each message. */
  messages(path: string, value: Value, messages: readonly string[]): void {
    for (const message of messages) this.invalid(path, value, message);
  }
  forbidden(path: string, detail: string): void {
    this.list.push(forbiddenField(path, detail));
  }
  duplicate(path: string, value: Value): void {
    this.list.push(duplicateField(path, shown(value)));
  }
  notFound(path: string, value: Value): void {
    this.list.push(notFoundField(path, shown(value)));
  }
  notSupported(path: string, value: Value, supported: readonly string[]): void {
    this.list.push(notSupportedField(path, shown(value), supported));
  }
  tooLong(path: string, max: number): void {
    this.list.push(tooLongField(path, max));
  }
  tooMany(path: string, actual: number, max: number): void {
    this.list.push(tooManyField(path, actual, max));
  }
  internal(path: string, detail: string): void {
    this.list.push(internalField(path, detail));
  }
  add(errors: readonly FieldError[]): void {
    for (const error of errors) this.list.push(error);
  }
}

function shown(value: Value): JsonValue {
  return value === undefined ? null : (value as JsonValue);
}
