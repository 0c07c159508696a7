/** Writes a property whatever its name. */

/** Sets a property even when its name is `__proto__`, which JSON allows. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
