/** Frames of SPDY/3.1 as bytes: the few that Kubernetes' streaming uses, and the framing of all others. */

export const frameType = {
  synStream: 1,
  synReply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const resetStatus = { protocolError: 1, refusedStream: 3, cancel: 5, internalError: 6 } as const;

export const finFlag = 1;

export type Frame =
  | { readonly kind: "data"; readonly stream: number; readonly flags: number; readonly payload: Buffer }
  | { readonly kind: "control"; readonly type: number; readonly flags: number; readonly payload: Buffer };

const headLength = 8;
const version = 3;

export function dataFrame(stream: number, payload: Uint8Array, fin: boolean): Buffer[] {
  const head = Buffer.alloc(headLength);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE(payload.byteLength, 4);
  head[4] = fin ? finFlag : 0;
  return payload.byteLength === 0
    ? [head]
    : [head, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)];
}

export function controlFrame(type: number, flags: number, payload: Buffer): Buffer {
  const frame = Buffer.alloc(headLength + payload.length);
  frame.writeUInt16BE(0x8000 | version, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(payload.length, 4);
  frame[4] = flags;
  payload.copy(frame, headLength);
  return frame;
}

/** Whole frames out of chunks, in order. */
export class FrameReader {
  #parts: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#length += chunk.length;
  }

  take(): Frame | undefined {
    if (this.#length < headLength) return undefined;
    const bytes = this.#joined();
    const length = bytes.readUInt32BE(4) & 0xffffff;
    if (bytes.length < headLength + length) return undefined;
    const payload = bytes.subarray(headLength, headLength + length);
    const flags = bytes[4] ?? 0;
    const word = bytes.readUInt32BE(0);
    this.#parts = bytes.length > headLength + length ? [bytes.subarray(headLength + length)] : [];
    this.#length = bytes.length - headLength - length;
    if (word >>> 31 === 0) return { kind: "data", stream: word, flags, payload };
    if (word >>> 16 !== (0x8000 | version)) throw new RangeError("the peer does not speak SPDY/3.1");
    return { kind: "control", type: word & 0xffff, flags, payload };
  }

  #joined(): Buffer {
    const [only] = this.#parts;
    if (this.#parts.length === 1 && only) return only;
    const joined = Buffer.concat(this.#parts, this.#length);
    this.#parts = [joined];
    return joined;
  }
}
