/** Virtual time: events in order of their moment, one after the other, and nothing in between but promises. */

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class Timeline {
  #nowMs = 0;
  #order = 0;
  #heap: Event[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  at(delayMs: number, run: () => void): () => void {
    let live = true;
    this.#push({ atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, run: () => live && run() });
    return () => {
      live = false;
    };
  }

  /** Runs everything that is due until then. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (let next = this.#heap[0]; next && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      this.#nowMs = next.atMs;
      next.run();
      await settled();
    }
    this.#nowMs = untilMs;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    heap.push(event);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at] as Event, heap[parent] as Event)) break;
      [heap[at], heap[parent]] = [heap[parent] as Event, heap[at] as Event];
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && isBefore(heap[left] as Event, heap[least] as Event)) least = left;
      if (right < heap.length && isBefore(heap[right] as Event, heap[least] as Event)) least = right;
      if (least === at) return;
      [heap[at], heap[least]] = [heap[least] as Event, heap[at] as Event];
      at = least;
    }
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs !== b.atMs ? a.atMs < b.atMs : a.order < b.order;
}

/** Everything that promises lead to has happened. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A generator of numbers that the seed alone decides. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0 || 1;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)] as T;
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }
}
