/** Cuts a stream of chunks into lines without copying more than the lines that cross a chunk. */

const newline = 0x0a;

/**
 * Feed it chunks with `push` and call `next` until it says that there is no complete line; what is left at the end of
 * the stream is `rest`. A line is the part of `bytes` between `start` and `end`, without its newline. Bytes are never
 * decoded here, so a character that spans two chunks is safe.
 */
export class LineSplitter {
  readonly #longest: number;
  /** Beginnings of a line whose end has not arrived. */
  #parts: Buffer[] = [];
  #partsLength = 0;
  #chunk: Buffer | undefined;
  #offset = 0;
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;

  constructor(longest = 256 << 20) {
    this.#longest = longest;
  }

  /** May only be called when `next` returned false. */
  push(chunk: Uint8Array): void {
    this.#chunk = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#offset = 0;
  }

  /** Moves to the next line; false when its end has not arrived. */
  next(): boolean {
    const chunk = this.#chunk;
    if (chunk === undefined) return false;
    const end = chunk.indexOf(newline, this.#offset);
    if (end < 0) {
      this.#keep(chunk.subarray(this.#offset));
      this.#chunk = undefined;
      return false;
    }
    const start = this.#offset;
    this.#offset = end + 1;
    if (this.#parts.length === 0) {
      this.bytes = chunk;
      this.start = start;
      this.end = end;
      return true;
    }
    this.#parts.push(chunk.subarray(start, end));
    this.bytes = Buffer.concat(this.#parts, this.#partsLength + end - start);
    this.start = 0;
    this.end = this.bytes.length;
    this.#parts = [];
    this.#partsLength = 0;
    return true;
  }

  /** The line as a buffer of its own. */
  take(): Buffer | undefined {
    return this.next() ? this.bytes.subarray(this.start, this.end) : undefined;
  }

  /** The last line, when it never ended. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts, this.#partsLength);
    this.#parts = [];
    this.#partsLength = 0;
    return rest;
  }

  /** Bytes of a last line that never ended. */
  get rest(): number {
    return this.#partsLength;
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    // A copy: the chunk may be overwritten when the next one comes, and would be held for a few bytes otherwise.
    this.#parts.push(Buffer.from(piece));
    this.#partsLength += piece.length;
    if (this.#partsLength > this.#longest)
      throw new RangeError(`a line is longer than ${this.#longest} bytes`);
  }
}
