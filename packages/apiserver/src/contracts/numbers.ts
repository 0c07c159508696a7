/** Integers that JavaScript's numbers cannot hold, where they are to be compared. */
import { isRawNumber, type JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";

/** The nearest number of an integer beyond 2^53, which is kept as it was written; anything else as it is. */
export function nearestNumber<T>(value: T): T {
  return isRawNumber(value) ? (Number(value.rawJSON) as T) : value;
}

/**
 * What a rule finds in objects. A rule that compares an integer beyond 2^53 throws a TypeError: it is run again, with the
 * nearest numbers in place of all of them.
 */
export function ruled<T extends readonly unknown[], R>(rule: (...objects: T) => R, ...objects: T): R {
  try {
    return rule(...objects);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return rule(...(objects.map((object) => nearestNumbers(object as JsonValue)) as unknown as T));
  }
}

function nearestNumbers(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(nearestNumbers);
  if (!isObject(value)) return nearestNumber(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? item : nearestNumbers(item)]),
  );
}
