/** Objects as the API server prints them: fields that hold their zero value are left out. */

/** A copy without fields that are absent, zero, false, empty text or an empty list. */
export function omitEmpty<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value))) as T;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === 0 ||
    value === false ||
    value === "" ||
    (Array.isArray(value) && value.length === 0)
  );
}
