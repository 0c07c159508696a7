/** Lets other requests have their turn while one has much to do. */
import type { Clock } from "@keelson/core";

/** Processor time: on a busy machine a small piece takes long by the clock, and is small all the same. */
const sliceMs = 10;
/** To look at the clock costs something, too. */
const between = 32;

/** Of this process, when it was last asked for: to ask costs more than most requests take. */
let lastUsedMs = 0;

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  lastUsedMs = (user + system) / 1_000;
  return lastUsedMs;
}

/**
 * Work rests when more than 10 ms have passed by the server's clock and as much processor time was used. Nothing uses more
 * processor time than time, so the system is asked only when that much has passed. Under a virtual clock, which stands
 * still meanwhile, nothing rests: how long work takes differs from run to run, and a test must be the same each time.
 *
 * ```ts
 * const turns = new Turns(clock);
 * for (const item of items) {
 *   work(item);
 *   if (turns.due()) await turns.rest();
 * }
 * ```
 */
export class Turns {
  readonly #clock: Clock;
  #beganMs: number;
  /** Processor time of then or of earlier, so that a rest may come too early, and never too late. */
  #beganUsedMs = lastUsedMs;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonic();
  }

  /** Whether the work has gone on for long enough: asked after each of many small pieces. */
  due(): boolean {
    return ++this.#count % between === 0 && this.late();
  }

  /** The same, asked after one of a few pieces, each of which may be large. */
  late(): boolean {
    return this.#clock.monotonic() - this.#beganMs > sliceMs && usedMs() - this.#beganUsedMs > sliceMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#beganMs = this.#clock.monotonic();
    this.#beganUsedMs = usedMs();
  }
}
