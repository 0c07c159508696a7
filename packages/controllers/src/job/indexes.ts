/** Sets of completion indexes, written as `0-2,5,7,8`. */

/** Disjoint intervals in ascending order, none next to another. */
export class IndexSet {
  // `this`, since by name the compiler emits an alias that is not set yet.
  static readonly empty: IndexSet = new this([]);
  readonly #intervals: readonly (readonly [first: number, last: number])[];

  private constructor(intervals: readonly (readonly [number, number])[]) {
    this.#intervals = intervals;
  }

  static of(indexes: Iterable<number>): IndexSet {
    return IndexSet.#merged([...indexes].map((index) => [index, index] as const));
  }

  /** What cannot be read is left out, and so is what lies beyond the number of completions. */
  static parse(text: string | undefined, completions: number): IndexSet {
    const intervals: [number, number][] = [];
    for (const part of (text ?? "").split(",")) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (!match) continue;
      const first = Number(match[1]);
      const last = Math.min(match[2] === undefined ? first : Number(match[2]), completions - 1);
      if (first < completions && last >= first) intervals.push([first, last]);
    }
    return IndexSet.#merged(intervals);
  }

  static #merged(intervals: readonly (readonly [number, number])[]): IndexSet {
    const out: [number, number][] = [];
    for (const [first, last] of intervals.toSorted(([a], [b]) => a - b)) {
      const before = out.at(-1);
      if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
      else out.push([first, last]);
    }
    return new IndexSet(out);
  }

  get size(): number {
    return this.#intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  has(index: number): boolean {
    return this.#intervals.some(([first, last]) => first <= index && index <= last);
  }

  union(other: IndexSet): IndexSet {
    return IndexSet.#merged([...this.#intervals, ...other.#intervals]);
  }

  /** How many indexes both have. */
  common(other: IndexSet): number {
    let count = 0;
    for (const [first, last] of this.#intervals) {
      for (const [otherFirst, otherLast] of other.#intervals) {
        count += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1);
      }
    }
    return count;
  }

  /** The first so many indexes below `limit` that are not in the set. */
  missing(count: number, limit: number): number[] {
    const out: number[] = [];
    for (let index = 0; index < limit && out.length < count; index++) if (!this.has(index)) out.push(index);
    return out;
  }

  /** Two neighbours are written one by one, more as a range. */
  toString(): string {
    return this.#intervals
      .map(([first, last]) => {
        if (first === last) return String(first);
        return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
      })
      .join(",");
  }
}
