/** Lets other requests have their turn while one has much to do. */

/** Processor time: on a busy machine a small piece takes long by the clock, and is small all the same. */
const sliceMs = 10;
/** To look at it costs something, too. */
const between = 32;

/** Asking the system costs more than most requests take between two looks: an answer serves for so long. */
const freshMs = 1;
let read = { usedMs: 0, atMs: Number.NEGATIVE_INFINITY };

function usedMs(): number {
  const atMs = performance.now();
  if (atMs - read.atMs >= freshMs) {
    const { user, system } = process.cpuUsage();
    read = { usedMs: (user + system) / 1_000, atMs };
  }
  return read.usedMs;
}

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
  #began = usedMs();
  #count = 0;

  /** Whether the work has gone on for long enough: asked after each of many small pieces. */
  due(): boolean {
    return ++this.#count % between === 0 && this.late();
  }

  /** The same, asked after one of a few pieces, each of which may be large. */
  late(): boolean {
    return usedMs() - this.#began > sliceMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = usedMs();
  }
}
