/** Tables that are looked up by names which users choose. */

/** Has no keys but its own: neither `constructor` nor `toString`. */
export function lookupTable<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, T>, entries));
}
