/** Cuts a stream of chunks into lines without copying more than the lines that cross a chunk. */

const newline = 0x0a;

/**
 * Feed it chunks with `push` and take complete lines with `take` until there is none; what is left at the
 * end of the stream is `rest`. Lines come without their newline. Bytes are never decoded here, so a
 * character that spans two chunks is safe.
 */
export class LineSplitter {
  readonly #longest: number;
  /** Beginnings of a line whose end has not arrived. */
  #parts: Buffer[] = [];
  #partsLength = 0;
  #chunk: Buffer | undefined;
  #offset = 0;

  constructor(longest = 256 << 20) {
    this.#longest = longest;
  }

  /** May only be called when `take` returned undefined. */
  push(chunk: Uint8Array): void {
    this.#chunk = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#offset = 0;
  }

  take(): Buffer | undefined {
    const chunk = this.#chunk;
    if (chunk === undefined) return undefined;
    const end = chunk.indexOf(newline, this.#offset);
    if (end < 0) {
      this.#keep(chunk.subarray(this.#offset));
      this.#chunk = undefined;
      return undefined;
    }
    const piece = chunk.subarray(this.#offset, end);
    this.#offset = end + 1;
    if (this.#parts.length === 0) return piece;
    this.#parts.push(piece);
    const line = Buffer.concat(this.#parts, this.#partsLength + piece.length);
    this.#parts = [];
    this.#partsLength = 0;
    return line;
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
    this.#parts.push(piece);
    this.#partsLength += piece.length;
    if (this.#partsLength > this.#longest)
      throw new RangeError(`a line is longer than ${this.#longest} bytes`);
  }
}
