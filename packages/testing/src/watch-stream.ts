/** The body of a watch on its way to a manager, with what a network can do to it. */
import { ClientError } from "@keelson/client";
import type { ObservedRequest } from "./observed-request.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** A promise that a dead process waits for. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/** A watch's body: in order always, but it can be held back, broken off, or fall silent. */
export class WatchStream implements AsyncIterable<Uint8Array> {
  readonly observed: ObservedRequest;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #clock: VirtualClock;
  readonly #held: () => boolean;
  readonly #broken = Promise.withResolvers<"broken" | "ended">();
  #wake: (() => void) | undefined;
  #silent = false;
  #dead = false;
  onEnd: () => void = () => {};

  constructor(
    source: AsyncIterable<Uint8Array>,
    observed: ObservedRequest,
    clock: VirtualClock,
    held: () => boolean,
  ) {
    this.observed = observed;
    this.#source = source[Symbol.asyncIterator]();
    this.#clock = clock;
    this.#held = held;
  }

  /** The connection breaks. */
  break(): void {
    this.#broken.resolve("broken");
  }

  /** The server ends the watch in good order, as it does every few minutes. */
  end(): void {
    this.#broken.resolve("ended");
  }

  /** Half-open: the connection stands and nothing comes any more. */
  silence(): void {
    this.#silent = true;
  }

  /** Looks again whether it is held back. */
  release(): void {
    this.#wake?.();
  }

  die(): void {
    this.#dead = true;
    void this.#source.return?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        const next = await Promise.race([this.#source.next(), this.#broken.promise]);
        if (this.#dead) await never();
        if (next === "ended") return;
        if (next === "broken") throw new ClientError("ConnectionLost", "the connection was reset (injected)");
        if (next.done) return;
        while (this.#held() || this.#silent) {
          const end = await Promise.race([
            new Promise<"woken">((resolve) => {
              this.#wake = () => resolve("woken");
            }),
            this.#broken.promise,
          ]);
          if (this.#dead) await never();
          if (end === "ended") return;
          if (end === "broken")
            throw new ClientError("ConnectionLost", "the connection was reset (injected)");
        }
        this.#clock.touch();
        yield next.value;
      }
    } finally {
      this.onEnd();
      void this.#source.return?.();
    }
  }
}
