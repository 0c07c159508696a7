/** Shapes that strategies share. */
import { deepEqual, type JsonObject, type JsonValue, validateDns1123Label } from "@keelson/core";
import { validateGenerateName } from "@keelson/core/internal";
import type { FieldError } from "../../contracts/field-error.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy, StrategyContext } from "../../contracts/strategy.ts";
import { Errors } from "./errors.ts";
import { immutable, notNegative } from "./formats.ts";

/** Names that must be labels, because they become part of host names. */
export const labelNames: NonNullable<Strategy["validateName"]> = (name, prefix) =>
  prefix ? validateGenerateName(name, validateDns1123Label) : validateDns1123Label(name);

type Check<T> = (object: T, errors: Errors, context: StrategyContext) => void;
type UpdateCheck<T> = (object: T, old: T, errors: Errors, context: StrategyContext) => void;

/** A rule over the kind's own type, as a strategy's `validate`. */
export function checking<T>(check: Check<T>) {
  return (object: ApiObject, context: StrategyContext): FieldError[] => {
    const errors = new Errors();
    check(object as unknown as T, errors, context);
    return errors.list;
  };
}

export function checkingUpdate<T>(check: UpdateCheck<T>) {
  return (object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[] => {
    const errors = new Errors();
    check(object as unknown as T, old as unknown as T, errors, context);
    return errors.list;
  };
}

/** One check for both create and update. */
export function checkedAlike<T>(check: Check<T>): Pick<Strategy, "validate" | "validateUpdate"> {
  return {
    validate: checking(check),
    validateUpdate: checkingUpdate<T>((object, _old, errors, context) => check(object, errors, context)),
  };
}

export function checkNotNegative(path: string, value: number | undefined, errors: Errors): void {
  if (value !== undefined && value < 0) errors.invalid(path, value, notNegative);
}

export function checkImmutable(path: string, value: unknown, old: unknown, errors: Errors): void {
  if (!deepEqual(value, old)) errors.invalid(path, value as JsonValue, immutable);
}

/** Counts changes of anything but metadata and status. */
export function anyChange(object: ApiObject, old: ApiObject): boolean {
  const bare = (value: ApiObject): JsonObject => {
    const { metadata: _, status: __, ...rest } = value;
    return rest as JsonObject;
  };
  return !deepEqual(bare(object), bare(old));
}

export function isEmpty(map: object | undefined): boolean {
  for (const _ in map) return false;
  return true;
}
