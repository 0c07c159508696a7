/** Work that is done again and again at a steady pace. A round that is called for comes at once. */
import type { Clock } from "./ports.ts";

export interface RoundsOptions {
  readonly clock: Pick<Clock, "monotonic" | "timer">;
  readonly run: () => Promise<unknown>;
  /** From the beginning of one round to that of the next. Asked for after each round. */
  readonly everyMs: () => number;
  readonly onError: (error: Error) => void;
}

/** However long a round takes, others get a turn. */
const breathMs = 50;

export class Rounds {
  readonly #options: RoundsOptions;
  #isCalled = false;
  #isStopped = false;
  #wake: () => void = () => {};

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /** Asks for a round now, or for another one right after the one that is under way. */
  call(): void {
    this.#isCalled = true;
    this.#wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  /** Resolves when it was stopped. */
  async run(): Promise<void> {
    const { clock, run, everyMs, onError } = this.#options;
    while (!this.#isStopped) {
      const began = clock.monotonic();
      this.#isCalled = false;
      await run().catch(onError);
      const restMs = Math.max(breathMs, everyMs() - (clock.monotonic() - began));
      if (!this.#isStopped) await this.#pause(this.#isCalled ? 0 : restMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.timer(ms, resolve);
    this.#wake = resolve;
    await promise;
    cancel();
  }
}
