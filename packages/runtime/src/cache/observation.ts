/** What an event from the watch meant to a cache. */
import { deepFreeze } from "@keelson/core";
import type { Slab } from "./byte-store.ts";
import type { Entry } from "./entry.ts";

/** Objects are parsed and frozen when they are asked for. */
export interface Observation<T> {
  /** Whether the watch said something new: that is so also of our own write, which we saw before the watch did. */
  readonly news: boolean;
  readonly object: T;
  /** Whether anything was seen before, and what. */
  readonly known: boolean;
  readonly previous: T | undefined;
}

/** An event whose object is in the cache now. One is made for every object of a state, so it is made of little. */
export class Taken<T> implements Observation<T> {
  readonly news: boolean;
  readonly entry: Entry<T>;
  readonly slab: Slab | undefined;
  readonly start: number;
  readonly length: number;
  readonly #parsed: T | undefined;
  readonly #open: (taken: Taken<T>) => T;
  readonly #previous: (() => T) | undefined;

  constructor(open: (taken: Taken<T>) => T, entry: Entry<T>, news: boolean, previous: (() => T) | undefined) {
    this.news = news;
    this.entry = entry;
    this.slab = entry.slab;
    this.start = entry.start;
    this.length = entry.length;
    this.#parsed = entry.object;
    this.#open = open;
    this.#previous = previous;
  }

  get object(): T {
    return this.#parsed ? deepFreeze(this.#parsed) : this.#open(this);
  }

  get known(): boolean {
    return this.#previous !== undefined;
  }

  get previous(): T | undefined {
    return this.#previous?.();
  }
}

/** An event whose object the cache did not take. */
export class Passed<T> implements Observation<T> {
  readonly news: boolean;
  readonly #object: T;
  readonly #previous: (() => T) | undefined;

  constructor(news: boolean, object: T, previous: (() => T) | undefined) {
    this.news = news;
    this.#object = object;
    this.#previous = previous;
  }

  get object(): T {
    return deepFreeze(this.#object);
  }

  get known(): boolean {
    return this.#previous !== undefined;
  }

  get previous(): T | undefined {
    return this.#previous?.();
  }
}
