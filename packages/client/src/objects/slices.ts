/** Keeps a long run of parsing from holding the event loop. */
import type { Clock } from "@keelson/core";

const sliceMs = 2;
/** The time is looked at after so many bytes: about a tenth of a slice. */
const smallBytes = 16 << 10;
/** Above this many bytes a slice ends whatever the clock says, so that it ends under a standing clock too. */
const largeBytes = 512 << 10;

/** Counts turns of the event loop; all slices of a turn share one mark in it. */
let turn = 0;
let isMarked = false;

function currentTurn(): number {
  if (!isMarked) {
    isMarked = true;
    setImmediate(() => {
      turn++;
      isMarked = false;
    });
  }
  return turn;
}

/**
 * Ask `due` after each object with its size; when it says so, `await rest()`. Timers, sockets and lease
 * renewals run in between. Work that waits by itself says so with `pause` and `resume`: then it has held nobody, and a
 * rest, which takes long in a busy process, would only make its news old.
 */
export class Slices {
  readonly #clock: Clock;
  #started: number;
  #turn: number;
  #bytes = 0;
  /** How many bytes there were when the time was looked at. */
  #looked = 0;
  #workedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.monotonic();
    this.#turn = currentTurn();
  }

  due(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#bytes - this.#looked < smallBytes) return false;
    this.#looked = this.#bytes;
    return this.#bytes >= largeBytes || this.#clock.monotonic() - this.#started >= sliceMs;
  }

  /** The work is about to wait for something else. */
  pause(): void {
    this.#workedMs = this.#clock.monotonic() - this.#started;
  }

  /**
   * The work goes on: where it stopped, or from the beginning when the loop has turned meanwhile. To know that costs a
   * turn of the loop; work that has done next to nothing does not ask.
   */
  resume(): void {
    const now = this.#bytes < smallBytes ? this.#turn : currentTurn();
    if (now !== this.#turn) {
      this.#turn = now;
      this.#bytes = 0;
      this.#looked = 0;
      this.#workedMs = 0;
    }
    this.#started = this.#clock.monotonic() - this.#workedMs;
  }

  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#turn = currentTurn();
    this.#started = this.#clock.monotonic();
    this.#bytes = 0;
    this.#looked = 0;
  }
}
