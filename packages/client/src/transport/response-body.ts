/** A response's body between the socket that fills it and the consumer that pulls it. */

/** Beyond this many unread bytes the socket is told to wait. */
const highWater = 128 << 10;

export interface BodySource {
  pause(): void;
  resume(): void;
  /** The consumer lost interest before the end. */
  cancel(): void;
}

/** Chunks in order, one reader. The source rests while more than `highWater` bytes wait to be read. */
export class ResponseBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: BodySource;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #handedOut = 0;
  /** So many bytes from the beginning are no longer used: the consumer has asked for what follows them. */
  released = 0;
  #paused = false;
  #ended = false;
  #error: unknown;
  #waiting:
    | { resolve: (result: IteratorResult<Uint8Array>) => void; reject: (error: unknown) => void }
    | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  push(chunk: Uint8Array): void {
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      this.#handedOut += chunk.byteLength;
      waiting.resolve({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > highWater && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
  }

  end(): void {
    this.#ended = true;
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  /** Chunks that arrived before the failure are still handed out. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#waiting?.reject(error);
    if (this.#waiting) this.#error = undefined;
    this.#waiting = undefined;
  }

  /** All of it has come, in one piece, and none of it was read. */
  get isWhole(): boolean {
    return this.#ended && this.#error === undefined && this.#handedOut === 0 && this.#chunks.length === 1;
  }

  /** The one piece, where it `isWhole`. */
  takeWhole(): Buffer {
    const whole = this.#chunks.pop() as Uint8Array;
    this.#handedOut = whole.byteLength;
    if (whole instanceof Buffer) return whole;
    return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength);
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    this.released = this.#handedOut;
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#bytes -= chunk.byteLength;
      this.#handedOut += chunk.byteLength;
      if (this.#paused && this.#bytes <= highWater / 2) {
        this.#paused = false;
        this.#source.resume();
      }
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#ended) {
      this.end();
      this.#source.cancel();
    }
    this.#chunks.length = 0;
    this.#error = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
