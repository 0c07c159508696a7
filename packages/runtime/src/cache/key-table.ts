/**
 * Finds many values by their keys. A map of V8 follows a chain of strings for each key that it does not know, and a
 * first read of a large state consists of nothing else; here such a look ends at the first empty place of a small array.
 */

import { randomBytes } from "node:crypto";

export interface Keyed {
  readonly key: string;
}

const firstPlaces = 64;
const empty = 0;
/** Something was here and went: a search goes on behind it. */
const left = -1;

/** Keys are unique. Values come in no particular order; they may go, but not come, while they are iterated over. */
export class KeyTable<V extends Keyed> implements Iterable<V> {
  readonly #values: (V | undefined)[] = [];
  /** Where in `#values` nothing is. */
  readonly #free: number[] = [];
  /** For each place the hash of a key, and then where its value is, counted from 1. */
  #places = new Int32Array(2 * firstPlaces);
  /** Places that are not empty. */
  #taken = 0;
  #size = 0;
  /** What was looked for last, in vain: that is what will be added. */
  #missed = "";
  #missedHash = hashOf("");

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const hash = hashOf(key);
    const at = this.#find(key, hash);
    if (at >= 0) return this.#values[(this.#places[at + 1] as number) - 1];
    this.#missed = key;
    this.#missedHash = hash;
    return undefined;
  }

  /** Adds what is not there. */
  add(value: V): void {
    const { key } = value;
    // At most three quarters are taken, so every search ends.
    if (8 * (this.#taken + 1) > 3 * this.#places.length) this.#rebuild();
    const index = this.#free.pop() ?? this.#values.length;
    this.#values[index] = value;
    this.#put(key === this.#missed ? this.#missedHash : hashOf(key), index + 1);
    this.#size++;
  }

  delete(key: string): void {
    const at = this.#find(key, hashOf(key));
    if (at < 0) return;
    const index = (this.#places[at + 1] as number) - 1;
    this.#values[index] = undefined;
    this.#free.push(index);
    this.#places[at + 1] = left;
    this.#size--;
  }

  *[Symbol.iterator](): Generator<V, void, void> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }

  /** The place of a key, or -1. */
  #find(key: string, hash: number): number {
    const places = this.#places;
    const mask = places.length - 2;
    for (let at = firstPlace(hash, mask); ; at = (at + 2) & mask) {
      const index = places[at + 1] as number;
      if (index === empty) return -1;
      if (places[at] === hash && index !== left && this.#values[index - 1]?.key === key) return at;
    }
  }

  #put(hash: number, index: number): void {
    const places = this.#places;
    const mask = places.length - 2;
    let at = firstPlace(hash, mask);
    while (places[at + 1] !== empty) at = (at + 2) & mask;
    places[at] = hash;
    places[at + 1] = index;
    this.#taken++;
  }

  /** With room for as much again, and without the places that were left. */
  #rebuild(): void {
    const old = this.#places;
    let places = 2 * firstPlaces;
    while (places < 4 * (this.#size + 1)) places *= 2;
    this.#places = new Int32Array(places);
    this.#taken = 0;
    for (let at = 0; at < old.length; at += 2) {
      const index = old[at + 1] as number;
      if (index > empty) this.#put(old[at] as number, index);
    }
  }
}

/** Another in each process: a user who names objects must not be able to choose names that all meet in one place. */
const seed = randomBytes(4).readInt32LE();

/** FNV-1a: one multiplication per character, which is all that short keys can bear. */
function hashOf(key: string): number {
  let hash = seed;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash;
}

/** The low bits of the hash follow the last characters alone, which in names that count up are much the same. */
function firstPlace(hash: number, mask: number): number {
  return (Math.imul(hash, 0x9e3779b1) >>> 8) & mask;
}
