/** The keys of a table in order. Putting in and taking out is cheap; order is made when it is asked for. */

/** Fewer changes than this are put in place one by one. */
const fewChanges = 32;

export class SortedKeys {
  #keys: string[] = [];
  readonly #added = new Set<string>();
  readonly #removed = new Set<string>();

  /** The key must not be there. */
  add(key: string): void {
    if (this.#removed.size === 0 || !this.#removed.delete(key)) this.#added.add(key);
  }

  /** The key must be there. */
  delete(key: string): void {
    if (!this.#added.delete(key)) this.#removed.add(key);
  }

  /** All keys in order; valid until the next change. */
  all(): readonly string[] {
    const changes = this.#added.size + this.#removed.size;
    if (changes === 0) return this.#keys;
    if (changes < fewChanges) {
      for (const key of this.#removed) this.#keys.splice(position(this.#keys, key), 1);
      for (const key of this.#added) this.#keys.splice(position(this.#keys, key), 0, key);
    } else {
      const kept = this.#removed.size > 0 ? this.#keys.filter((key) => !this.#removed.has(key)) : this.#keys;
      this.#keys = this.#added.size > 0 ? merge(kept, [...this.#added].sort()) : kept;
    }
    this.#added.clear();
    this.#removed.clear();
    return this.#keys;
  }
}

/** Where the key is in a sorted list, or belongs. */
export function position(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function merge(a: readonly string[], b: readonly string[]): string[] {
  const out = new Array<string>(a.length + b.length);
  let i = 0;
  let j = 0;
  for (let at = 0; at < out.length; at++) {
    const fromA = j >= b.length || (i < a.length && (a[i] as string) < (b[j] as string));
    out[at] = (fromA ? a[i++] : b[j++]) as string;
  }
  return out;
}
