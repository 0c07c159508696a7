/** Pairs every value of an update with the value it replaces, as far as that can be told. */

import { deepEqual } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { RuleSchema } from "./types.ts";

/** The elements of an old keyed list, to be found by the keys of a new element. */
export class KeyedItems {
  readonly #keys: readonly string[];
  readonly #items: readonly unknown[];
  #byKey: Map<string, unknown> | undefined;

  constructor(schema: RuleSchema, items: readonly unknown[]) {
    const keyed = schema.type === "array" && schema["x-kubernetes-list-type"] === "map";
    this.#keys = keyed ? (schema["x-kubernetes-list-map-keys"] ?? []) : [];
    this.#items = items;
  }

  /** The first old element with the same keys; undefined when there is none, or the list has no keys. */
  get(item: unknown): unknown {
    if (this.#keys.length === 0) return undefined;
    const key = this.#keyOf(item);
    if (key === undefined) return undefined;
    this.#byKey ??= this.#index();
    return this.#byKey.get(key);
  }

  #index(): Map<string, unknown> {
    const index = new Map<string, unknown>();
    for (const item of this.#items) {
      const key = this.#keyOf(item);
      if (key !== undefined && !index.has(key)) index.set(key, item);
    }
    return index;
  }

  #keyOf(item: unknown): string | undefined {
    if (!isObject(item)) return undefined;
    const values: unknown[] = [];
    for (const key of this.#keys) {
      const value = item[key];
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
        return undefined;
      values.push(value);
    }
    return JSON.stringify(values);
  }
}

/** A value and the one it replaces. Tells whether they are equal, and remembers. */
export class Correlation {
  readonly #schema: RuleSchema;
  readonly #value: unknown;
  readonly #old: unknown;
  #equal: boolean | undefined;
  #items: KeyedItems | undefined;

  constructor(schema: RuleSchema, value: unknown, old: unknown) {
    this.#schema = schema;
    this.#value = value;
    this.#old = old;
  }

  get unchanged(): boolean {
    this.#equal ??= deepEqual(this.#value, this.#old);
    return this.#equal;
  }

  key(name: string): Correlation | undefined {
    if (!isObject(this.#value) || !isObject(this.#old)) return undefined;
    if (!Object.hasOwn(this.#value, name) || !Object.hasOwn(this.#old, name)) return undefined;
    const { properties, additionalProperties } = this.#schema;
    const property =
      properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const schema = property ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    if (schema === undefined) return undefined;
    return new Correlation(schema, this.#value[name], this.#old[name]);
  }

  index(at: number): Correlation | undefined {
    if (!Array.isArray(this.#value) || !Array.isArray(this.#old) || this.#schema.items === undefined) {
      return undefined;
    }
    this.#items ??= new KeyedItems(this.#schema, this.#old);
    const old = this.#items.get(this.#value[at]);
    if (old === undefined || old === null) return undefined;
    return new Correlation(this.#schema.items, this.#value[at], old);
  }
}

/** Where a walk through an update stands, for ratcheting. */
export class Ratchet {
  readonly #current: Correlation | undefined;
  readonly #nearest: Correlation | undefined;

  constructor(current: Correlation | undefined, nearest?: Correlation) {
    this.#current = current;
    this.#nearest = nearest;
  }

  static readonly none: Ratchet = new Ratchet(undefined);

  /** The value, or the nearest value around it that has a counterpart, is what it was. */
  get unchanged(): boolean {
    return (this.#current ?? this.#nearest)?.unchanged ?? false;
  }

  key(name: string): Ratchet {
    if (this.#current === undefined) return this;
    // These two are the same on both sides because both were converted to one version: that proves nothing.
    if (this.#nearest === undefined && (name === "apiVersion" || name === "kind")) return Ratchet.none;
    return new Ratchet(this.#current.key(name), this.#current);
  }

  index(at: number): Ratchet {
    if (this.#current === undefined) return this;
    return new Ratchet(this.#current.index(at), this.#current);
  }

  /** Inside `allOf` a value has no counterpart of its own. */
  allOf(): Ratchet {
    return new Ratchet(undefined, this.#nearest);
  }
}
