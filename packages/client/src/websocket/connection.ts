/**
 * WebSocket framing (RFC 6455) over any duplex stream, from either end, without extensions.
 *
 * The handshake belongs to the owner of the HTTP side: our transport, or the embedded API server.
 */
import type { Duplex } from "node:stream";
import type { Random } from "@keelson/core";
import { ClientError } from "../errors.ts";

/** Limits and timings of a WebSocket connection. */
export interface WebSocketOptions {
  /** A client masks what it sends, a server must not. */
  readonly role: "client" | "server";
  /** Draws the masks; only a client needs it. */
  readonly random?: Pick<Random, "bytes">;
  /** Largest message taken. Default: 64 MB. */
  readonly maxMessageBytes?: number;
}

/** A message of a WebSocket. */
export interface WebSocketMessage {
  readonly binary: boolean;
  readonly data: Buffer;
}

const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const normalClosure = 1000;
const protocolError = 1002;
const messageTooBig = 1009;

interface Frame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/**
 * Messages come by iterating, which ends when the peer closes properly and throws when the connection breaks or
 * the peer breaks the protocol. Pings are answered while someone iterates.
 */
export class WebSocketConnection implements AsyncIterable<WebSocketMessage> {
  readonly #stream: Duplex;
  readonly #options: WebSocketOptions;
  readonly #reader: FrameReader;
  #closing = false;

  constructor(stream: Duplex, options: WebSocketOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#reader = new FrameReader(options.role === "server", options.maxMessageBytes ?? 64 << 20);
    stream.on("error", () => {});
  }

  /** Resolves when the connection has room for more. */
  async send(data: Uint8Array | string): Promise<void> {
    const text = typeof data === "string";
    await this.#write(text ? opcode.text : opcode.binary, text ? Buffer.from(data) : asBuffer(data));
  }

  async ping(): Promise<void> {
    await this.#write(opcode.ping, Buffer.alloc(0));
  }

  /** Says goodbye; iteration ends when the peer has answered, or at once when nobody iterates. */
  async close(code = normalClosure, reason = ""): Promise<void> {
    await this.#sayGoodbye(code, reason);
    this.#stream.end();
  }

  /** Breaks off without a word. */
  destroy(): void {
    this.#closing = true;
    this.#stream.destroy();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WebSocketMessage, void, void> {
    let parts: Buffer[] = [];
    let type = 0;
    try {
      for await (const frame of this.#frames()) {
        switch (frame.opcode) {
          case opcode.ping:
            await this.#write(opcode.pong, frame.payload);
            continue;
          case opcode.pong:
            continue;
          case opcode.close:
            return await this.#goodbyeOf(frame.payload);
          case opcode.text:
          case opcode.binary:
            if (parts.length > 0) throw violation("a message began inside another");
            type = frame.opcode;
            break;
          case opcode.continuation:
            if (parts.length === 0) throw violation("a message went on that never began");
            break;
          default:
            throw violation(`there is no opcode ${frame.opcode}`);
        }
        parts.push(frame.payload);
        if (!frame.fin) {
          const length = parts.reduce((sum, part) => sum + part.length, 0);
          if (length > this.#reader.largest) throw tooBig();
          continue;
        }
        const data = parts.length === 1 ? frame.payload : Buffer.concat(parts);
        parts = [];
        yield { binary: type === opcode.binary, data };
      }
      if (!this.#closing) throw broken("the connection ended without a goodbye");
    } catch (error) {
      if (error instanceof Violation) await this.#sayGoodbye(error.closeCode, error.message).catch(() => {});
      throw error instanceof ClientError ? error : broken((error as Error).message, error);
    } finally {
      this.#stream.end();
      if (!this.#closing) this.#stream.destroy();
    }
  }

  async *#frames(): AsyncGenerator<Frame, void, void> {
    for await (const chunk of this.#stream.iterator({ destroyOnReturn: false })) {
      this.#reader.push(chunk as Buffer);
      for (let frame = this.#reader.take(); frame !== undefined; frame = this.#reader.take()) yield frame;
    }
  }

  async #goodbyeOf(payload: Buffer): Promise<void> {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : normalClosure;
    const reason = payload.toString("utf8", 2);
    const answered = this.#closing;
    await this.#sayGoodbye(code, "").catch(() => {});
    if (code !== normalClosure && code !== 1001 && !answered) {
      throw broken(`the peer closed with code ${code}${reason ? `: ${reason}` : ""}`);
    }
  }

  async #sayGoodbye(code: number, reason: string): Promise<void> {
    if (this.#closing) return;
    const payload = Buffer.concat([
      Buffer.from([code >> 8, code & 0xff]),
      Buffer.from(reason).subarray(0, 123),
    ]);
    const written = this.#write(opcode.close, payload);
    this.#closing = true;
    await written;
  }

  #write(type: number, payload: Buffer): Promise<void> {
    if (this.#closing || !this.#stream.writable) return Promise.reject(broken("the connection is closed"));
    const frame = encode(type, payload, this.#options);
    return new Promise((resolve, reject) => {
      this.#stream.cork();
      for (const [i, part] of frame.entries()) {
        const last = i === frame.length - 1;
        this.#stream.write(
          part,
          last ? (error) => (error ? reject(broken(error.message, error)) : resolve()) : undefined,
        );
      }
      this.#stream.uncork();
    });
  }
}

/** The answer a server gives to a client's `sec-websocket-key`. */
export function webSocketAccept(key: string): string {
  const { createHash } = process.getBuiltinModule("node:crypto");
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

function encode(type: number, payload: Buffer, options: WebSocketOptions): Buffer[] {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 0x10000 ? 2 : 8;
  const masked = options.role === "client";
  const head = Buffer.alloc(2 + extra + (masked ? 4 : 0));
  head[0] = 0x80 | type;
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127);
  if (extra === 2) head.writeUInt16BE(length, 2);
  else if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return length === 0 ? [head] : [head, payload];
  const mask = options.random?.bytes(4) ?? crypto.getRandomValues(new Uint8Array(4));
  head.set(mask, 2 + extra);
  return length === 0 ? [head] : [head, applyMask(payload, mask)];
}

/** A copy: the caller's bytes are not ours to change. */
function applyMask(payload: Buffer, mask: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(payload.length);
  for (let i = 0; i < payload.length; i++) out[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return out;
}

/** Whole frames out of chunks, checked against the rules that framing has. */
class FrameReader {
  readonly #masked: boolean;
  readonly largest: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(masked: boolean, largest: number) {
    this.#masked = masked;
    this.largest = largest;
  }

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#length += chunk.length;
  }

  take(): Frame | undefined {
    if (this.#length < 2) return undefined;
    let bytes = this.#peek(2);
    const first = bytes[0] ?? 0;
    const second = bytes[1] ?? 0;
    const type = first & 0x0f;
    const fin = (first & 0x80) !== 0;
    if (first & 0x70) throw violation("a reserved bit is set");
    if (((second & 0x80) !== 0) !== this.#masked)
      throw violation(this.#masked ? "a frame is not masked" : "a frame is masked");
    const short = second & 0x7f;
    if (type >= opcode.close && (short > 125 || !fin)) throw violation("a control frame is too long");
    const extra = short < 126 ? 0 : short === 126 ? 2 : 8;
    const head = 2 + extra + (this.#masked ? 4 : 0);
    if (this.#length < head) return undefined;
    bytes = this.#peek(head);
    const length =
      extra === 0 ? short : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (length > this.largest) throw tooBig();
    if (this.#length < head + length) return undefined;
    bytes = this.#peek(head + length);
    const body = bytes.subarray(head, head + length);
    const payload = this.#masked ? applyMask(body, bytes.subarray(head - 4, head)) : body;
    this.#parts =
      bytes.length > head + length
        ? [bytes.subarray(head + length), ...this.#parts.slice(1)]
        : this.#parts.slice(1);
    this.#length -= head + length;
    return { fin, opcode: type, payload };
  }

  /** Makes the first part at least so long. */
  #peek(length: number): Buffer {
    const [first] = this.#parts;
    if (first && first.length >= length) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }
}

/** The peer broke the protocol; it is told so by this code. */
class Violation extends ClientError {
  readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super("StreamBroken", message);
    this.closeCode = closeCode;
  }
}

function violation(message: string): Violation {
  return new Violation(protocolError, `the peer breaks the WebSocket protocol: ${message}`);
}

function tooBig(): Violation {
  return new Violation(messageTooBig, "the peer sent a message that is too large");
}

function broken(message: string, cause?: unknown): ClientError {
  return new ClientError("StreamBroken", message, cause === undefined ? undefined : { cause });
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
