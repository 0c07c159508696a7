/** Lets other requests have their turn while one has much to do. */

const sliceMs = 10;
/** To look at the clock costs something, too. */
const between = 32;

/**
 * ```ts
 * const turns = new Turns();
 * for (const item of items) {
 *   work(item);
 *   if (turns.due()) await turns.rest();
 * }
 * ```
 */
export class Turns {
  #began = performance.now();
  #count = 0;

  /** Whether the work has gone on for long enough: asked after each of many small pieces. */
  due(): boolean {
    return ++this.#count % between === 0 && this.late();
  }

  /** The same, asked after one of a few pieces, each of which may be large. */
  late(): boolean {
    return performance.now() - this.#began > sliceMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
