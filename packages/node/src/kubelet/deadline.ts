/** A moment that may move closer, never further away. */
import type { Cancel, Clock } from "@keelson/core";

export class Deadline {
  readonly #clock: Clock;
  readonly passed: Promise<void>;
  readonly #resolve: () => void;
  #at: number;
  #cancel: Cancel;

  constructor(clock: Clock, delayMs: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#clock = clock;
    this.passed = promise;
    this.#resolve = resolve;
    this.#at = clock.monotonic() + delayMs;
    this.#cancel = clock.timer(delayMs, resolve);
  }

  /** Milliseconds left; 0 when it has passed. */
  get remainingMs(): number {
    return Math.max(0, this.#at - this.#clock.monotonic());
  }

  shorten(delayMs: number): void {
    if (delayMs >= this.remainingMs) return;
    this.#cancel();
    this.#at = this.#clock.monotonic() + delayMs;
    this.#cancel = this.#clock.timer(delayMs, this.#resolve);
  }

  cancel(): void {
    this.#cancel();
  }
}
