/** Finds the keys of a cache by what its objects hold, and by namespace. */
import { parseKey } from "@keelson/core";

/** Values under which an object is found again. Pure, and never changes the object. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Keys by a value. Most values have one key, and a set for each would outweigh the objects. */
type KeyMap = Map<string, string | Set<string>>;

interface Index<T> {
  readonly of: IndexFunction<T>;
  readonly keys: KeyMap;
}

/** Called when an index function throws; the object is then not found under that index. */
export type IndexErrorHandler = (index: string, key: string, error: unknown) => void;

export class CacheIndexes<T> {
  readonly #indexes = new Map<string, Index<T>>();
  /** Keys by namespace; built when someone first lists a namespace, since most caches are never asked. */
  #namespaces: KeyMap | undefined;
  readonly #onError: IndexErrorHandler | undefined;

  constructor(onError?: IndexErrorHandler) {
    this.#onError = onError;
  }

  /** Whether objects must be looked into when they come and go. */
  get readObjects(): boolean {
    return this.#indexes.size > 0;
  }

  /** Adds an index over what is there. An index that is there already must be of the same function. */
  add(name: string, of: IndexFunction<T>, present: () => Iterable<readonly [key: string, object: T]>): void {
    const existing = this.#indexes.get(name);
    if (existing) {
      if (existing.of !== of) throw new TypeError(`the index "${name}" exists with another function`);
      return;
    }
    const index: Index<T> = { of, keys: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of present()) this.#put(name, index, key, object);
  }

  remove(name: string): void {
    this.#indexes.delete(name);
  }

  /** The keys under a value; undefined when there is no such index. */
  find(index: string, value: string): Iterable<string> | undefined {
    const found = this.#indexes.get(index);
    return found && keysIn(found.keys.get(value));
  }

  inNamespace(namespace: string, all: () => Iterable<string>): Iterable<string> {
    if (!this.#namespaces) {
      this.#namespaces = new Map();
      for (const key of all()) addTo(this.#namespaces, namespaceOf(key), key);
    }
    return keysIn(this.#namespaces.get(namespace));
  }

  addKey(key: string): void {
    if (this.#namespaces) addTo(this.#namespaces, namespaceOf(key), key);
  }

  removeKey(key: string): void {
    if (this.#namespaces) removeFrom(this.#namespaces, namespaceOf(key), key);
  }

  addObject(key: string, object: T): void {
    for (const [name, index] of this.#indexes) this.#put(name, index, key, object);
  }

  /** Takes out what `addObject` put in; the object must be the same. */
  removeObject(key: string, object: T): void {
    for (const index of this.#indexes.values()) {
      let values: readonly string[] = [];
      try {
        values = index.of(object);
      } catch {
        // It was not put in either.
      }
      for (const value of values) removeFrom(index.keys, value, key);
    }
  }

  #put(name: string, index: Index<T>, key: string, object: T): void {
    let values: readonly string[];
    try {
      values = index.of(object);
    } catch (error) {
      this.#onError?.(name, key, error);
      return;
    }
    for (const value of values) addTo(index.keys, value, key);
  }
}

function namespaceOf(key: string): string {
  return parseKey(key).namespace ?? "";
}

function addTo(map: KeyMap, value: string, key: string): void {
  const keys = map.get(value);
  if (keys === undefined) map.set(value, key);
  else if (typeof keys !== "string") keys.add(key);
  else if (keys !== key) map.set(value, new Set([keys, key]));
}

function removeFrom(map: KeyMap, value: string, key: string): void {
  const keys = map.get(value);
  if (keys === key) map.delete(value);
  else if (typeof keys === "object" && keys.delete(key) && keys.size === 0) map.delete(value);
}

function keysIn(keys: string | ReadonlySet<string> | undefined): Iterable<string> {
  return typeof keys === "string" ? [keys] : (keys ?? []);
}
