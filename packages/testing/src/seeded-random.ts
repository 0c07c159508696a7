/** Randomness from a seed: the same draws every time, independent by name. */
import type { Random } from "@keelson/core";

/** 64 bits of an FNV-like hash in two 32-bit halves: enough to keep names apart. */
function hash(text: string, seed: number): [number, number] {
  let a = (0x811c9dc5 ^ seed) >>> 0;
  let b = (0x9e3779b9 ^ Math.imul(seed, 0x85ebca6b)) >>> 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193) >>> 0;
    b = Math.imul(b ^ code, 0x5bd1e995) >>> 0;
    b = (b ^ (b >>> 15)) >>> 0;
  }
  return [a, b];
}

/** A small, fast generator (sfc32); not for secrets. */
export class SeededRandom implements Random {
  readonly #path: string;
  readonly #seed: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, path = "") {
    this.#seed = seed >>> 0;
    this.#path = path;
    const [a, b] = hash(path, this.#seed);
    this.#a = a;
    this.#b = b;
    this.#c = this.#seed;
    for (let i = 0; i < 12; i++) this.#u32();
  }

  next(): number {
    return ((this.#u32() >>> 5) * 2 ** 26 + (this.#u32() >>> 6)) / 2 ** 53;
  }

  bytes(length: number): Uint8Array {
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) out[i] = this.#u32() & 0xff;
    return out;
  }

  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }

  /** So many of the items, each at most once. */
  sample<T>(items: readonly T[], count: number): T[] {
    const left = [...items];
    const chosen: T[] = [];
    while (chosen.length < count && left.length > 0)
      chosen.push(...left.splice(Math.floor(this.next() * left.length), 1));
    return chosen;
  }

  /** Depends on the seed and the name alone: what this generator drew before does not matter. */
  fork(name: string): Random {
    return new SeededRandom(this.#seed, `${this.#path}/${name}`);
  }

  #u32(): number {
    const t = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0;
    this.#c = (this.#c + t) >>> 0;
    return t;
  }
}
