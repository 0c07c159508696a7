/** Counts values by their size, in plain numbers that become text when someone asks. */
import type { HistogramFamily } from "./metric-text.ts";

export class Histogram {
  readonly #bounds: readonly number[];
  /** How many fell into each bucket; the last one has no bound. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    (this.#counts[at] as number)++;
    this.#sum += value;
  }

  samples(labels: Readonly<Record<string, string>>): HistogramFamily["samples"] {
    let count = 0;
    const buckets = this.#counts.map((each, at) => {
      count += each;
      const le = at < this.#bounds.length ? String(this.#bounds[at]) : "+Inf";
      return { suffix: "_bucket" as const, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { suffix: "_sum", labels, value: this.#sum },
      { suffix: "_count", labels, value: count },
    ];
  }
}
