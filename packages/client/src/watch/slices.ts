/** Keeps a long run of parsing from holding the event loop. */
import type { Clock } from "@keelson/core";

const sliceMs = 2;
/** Below this many bytes the time is not looked at: about a tenth of a slice. */
const smallBytes = 16 << 10;
/** Above this many bytes a slice ends whatever the clock says, so that it ends under a standing clock too. */
const largeBytes = 512 << 10;

/**
 * Ask `due` after each object with its size; when it says so, `await rest()`. Timers, sockets and lease
 * renewals run in between.
 */
export class Slices {
  readonly #clock: Clock;
  #started: number;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.monotonic();
  }

  due(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#bytes < smallBytes) return false;
    return this.#bytes >= largeBytes || this.#clock.monotonic() - this.#started >= sliceMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#started = this.#clock.monotonic();
    this.#bytes = 0;
  }
}
