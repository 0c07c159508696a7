/** Waiting between attempts: exponential, jittered, by the injected clock. */
import type { Clock, Random } from "@keelson/core";

export interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Doubles from `firstMs` to `longestMs`; each delay is drawn from its upper half, so that many clients spread. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: Random;
  #attempt = 0;

  constructor(options: BackoffOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /** Failures in a row so far. */
  get attempt(): number {
    return this.#attempt;
  }

  next(): number {
    const ceiling = Math.min(
      this.#options.longestMs,
      this.#options.firstMs * 2 ** Math.min(this.#attempt, 30),
    );
    this.#attempt++;
    return ceiling * (0.5 + this.#random.next() / 2);
  }

  reset(): void {
    this.#attempt = 0;
  }
}

/** Resolves after `delayMs`, or at once when `signal` aborts; the caller looks at the signal. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.timer(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
