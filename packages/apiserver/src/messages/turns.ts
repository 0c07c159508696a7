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

  /** Whether the work has gone on for long enough. */
  due(): boolean {
    return ++this.#count % between === 0 && performance.now() - this.#began > sliceMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
