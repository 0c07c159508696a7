/** Datagrams on a byte stream: each with its length before it, in two bytes. */

const headBytes = 2;
/** No datagram is longer over IPv4. */
export const longestDatagram = 65_507;

export function frame(datagram: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(headBytes + datagram.length);
  out.writeUInt16BE(datagram.length);
  out.set(datagram, headBytes);
  return out;
}

/** Cuts a stream into datagrams, however its chunks fall. */
export class FrameReader {
  #rest = Buffer.alloc(0);

  *read(chunk: Uint8Array): Generator<Buffer> {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= headBytes) {
      const end = headBytes + this.#rest.readUInt16BE();
      if (this.#rest.length < end) return;
      yield this.#rest.subarray(headBytes, end);
      this.#rest = this.#rest.subarray(end);
    }
  }
}
