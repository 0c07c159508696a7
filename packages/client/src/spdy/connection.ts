/**
 * SPDY/3.1 as Kubernetes' streaming speaks it, from either end.
 *
 * Left out is what nobody there uses: flow control windows (no peer sends or obeys them), priorities, push and
 * settings. Without windows a stream whose reader rests holds up all others of its connection once a megabyte
 * waits; give each byte stream that matters a connection of its own.
 */

import { Duplex } from "node:stream";
import { errorText } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";
import {
  controlFrame,
  dataFrame,
  type Frame,
  FrameReader,
  finFlag,
  frameType,
  resetStatus,
} from "./frames.ts";
import { HeaderReader, HeaderWriter, type SpdyHeaders } from "./header-block.ts";

/** Which side of a SPDY connection this is, and its limits. */
export interface SpdyOptions {
  /** Who opened the connection: the client's streams have odd numbers. */
  readonly role: "client" | "server";
  /** Takes a stream that the peer opened; throwing refuses it. Without it all are refused. */
  readonly onStream?: (stream: SpdyStream) => void;
}

/** Unread bytes of one stream beyond which the connection rests. */
const streamHighWater = 1 << 20;
/** A data frame's length has 24 bits; smaller frames let other streams in between. */
const largestData = 32 << 10;

/** A SPDY connection: streams over one socket, as the API server speaks them. */
export class SpdyConnection {
  readonly #transport: Duplex;
  readonly #options: SpdyOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #opening = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  readonly #pings = new Map<number, () => void>();
  readonly #headerWriter = new HeaderWriter();
  readonly #headerReader = new HeaderReader();
  #nextStream: number;
  #nextPing: number;
  #ended = false;
  /** Settles when the connection is over: undefined after a proper end, else what broke it. */
  readonly closed: Promise<Error | undefined>;

  constructor(transport: Duplex, options: SpdyOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#nextStream = options.role === "client" ? 1 : 2;
    this.#nextPing = this.#nextStream;
    transport.on("error", () => {});
    this.closed = this.#read().then(
      () => this.#end(undefined),
      (cause: unknown) => this.#end(broken(errorText(cause), cause)),
    );
  }

  /** Opens a stream; resolves when the peer has accepted it. */
  async createStream(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.#ended) throw broken("the connection is closed");
    const id = this.#nextStream;
    this.#nextStream += 2;
    const stream = this.#register(id, headers);
    const accepted = new Promise<void>((resolve, reject) => {
      this.#opening.set(id, { resolve, reject });
    });
    const head = Buffer.alloc(10);
    head.writeUInt32BE(id, 0);
    this.#send(
      controlFrame(frameType.synStream, 0, Buffer.concat([head, this.#headerWriter.write(headers)])),
    );
    await accepted;
    return stream;
  }

  /** Resolves when the peer has answered. */
  async ping(): Promise<void> {
    const id = this.#nextPing;
    this.#nextPing += 2;
    await new Promise<void>((resolve) => {
      this.#pings.set(id, resolve);
      this.#send(controlFrame(frameType.ping, 0, uint32(id)));
    });
  }

  /** Says goodbye and ends; streams that are still open break. */
  async close(): Promise<void> {
    if (!this.#ended) {
      this.#send(controlFrame(frameType.goAway, 0, Buffer.alloc(8)));
      this.#end(undefined);
    }
    await this.closed;
  }

  async #read(): Promise<void> {
    const frames = new FrameReader();
    for await (const chunk of this.#transport) {
      frames.push(chunk as Buffer);
      for (let frame = frames.take(); frame !== undefined; frame = frames.take()) await this.#accept(frame);
    }
  }

  async #accept(frame: Frame): Promise<void> {
    if (frame.kind === "data") return await this.#acceptData(frame.stream, frame.payload, frame.flags);
    const { payload, flags } = frame;
    const id = payload.length >= 4 ? payload.readUInt32BE(0) & 0x7fffffff : 0;
    switch (frame.type) {
      case frameType.synStream:
        return this.#acceptStream(id, await this.#headerReader.read(payload.subarray(10)), flags);
      case frameType.synReply:
        await this.#headerReader.read(payload.subarray(4));
        this.#opening.get(id)?.resolve();
        this.#opening.delete(id);
        if (flags & finFlag) this.#streams.get(id)?.endOfPeer();
        return;
      case frameType.headers:
        await this.#headerReader.read(payload.subarray(4));
        return;
      case frameType.reset:
        return this.#acceptReset(id);
      case frameType.ping:
        return this.#acceptPing(payload.readUInt32BE(0));
      default:
        return;
    }
  }

  async #acceptData(id: number, payload: Buffer, flags: number): Promise<void> {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    if (payload.length > 0) await stream.receive(payload);
    if (flags & finFlag) stream.endOfPeer();
  }

  #acceptStream(id: number, headers: SpdyHeaders, flags: number): void {
    const stream = this.#register(id, headers);
    try {
      if (!this.#options.onStream) throw broken("no stream is expected");
      // The reply goes first: a peer drops data that comes before it.
      this.#send(
        controlFrame(frameType.synReply, 0, Buffer.concat([uint32(id), this.#headerWriter.write({})])),
      );
      this.#options.onStream(stream);
    } catch {
      stream.refuse();
      return;
    }
    if (flags & finFlag) stream.endOfPeer();
  }

  #acceptReset(id: number): void {
    const error = broken("the peer reset the stream");
    this.#opening.get(id)?.reject(error);
    this.#opening.delete(id);
    this.#streams.get(id)?.resetByPeer(error);
  }

  #acceptPing(id: number): void {
    if ((id & 1) === (this.#nextPing & 1)) {
      this.#pings.get(id)?.();
      this.#pings.delete(id);
    } else {
      this.#send(controlFrame(frameType.ping, 0, uint32(id)));
    }
  }

  #register(id: number, headers: SpdyHeaders): SpdyStream {
    const stream = new SpdyStream(id, headers, {
      data: (payload, fin, done) => this.#sendAll(dataFrame(id, payload, fin), done),
      reset: (status) =>
        this.#send(controlFrame(frameType.reset, 0, Buffer.concat([uint32(id), uint32(status)]))),
      forget: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  #send(frame: Buffer): void {
    if (!this.#ended && this.#transport.writable) this.#transport.write(frame);
  }

  #sendAll(parts: Buffer[], done: (error?: Error | null) => void): void {
    if (this.#ended || !this.#transport.writable) {
      done(broken("the connection is closed"));
      return;
    }
    this.#transport.cork();
    for (const [i, part] of parts.entries()) {
      this.#transport.write(part, i === parts.length - 1 ? (error) => done(error ?? null) : undefined);
    }
    this.#transport.uncork();
  }

  #end(error: Error | undefined): Error | undefined {
    if (this.#ended) return undefined;
    this.#ended = true;
    this.#headerReader.close();
    const reason = error ?? broken("the connection is closed");
    for (const { reject } of this.#opening.values()) reject(reason);
    this.#opening.clear();
    for (const resolve of this.#pings.values()) resolve();
    this.#pings.clear();
    for (const stream of [...this.#streams.values()]) stream.resetByPeer(reason);
    this.#streams.clear();
    if (error) this.#transport.destroy();
    else this.#transport.end(() => this.#transport.destroy());
    return error;
  }
}

interface StreamOutput {
  data(payload: Uint8Array, fin: boolean, done: (error?: Error | null) => void): void;
  reset(status: number): void;
  forget(): void;
}

/** One stream of a connection. Ending it closes our direction only; destroying it resets both. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #output: StreamOutput;
  #peerEnded = false;
  #reset = false;
  #wake: (() => void) | undefined;

  constructor(id: number, headers: SpdyHeaders, output: StreamOutput) {
    super({ allowHalfOpen: true, readableHighWaterMark: streamHighWater });
    this.id = id;
    this.headers = headers;
    this.#output = output;
    // A reset reaches pending reads and writes; without any it must not end the process.
    this.on("error", () => {});
  }

  /** Resolves when more may come: at once, or when the reader has caught up. */
  async receive(payload: Buffer): Promise<void> {
    if (this.destroyed || this.#peerEnded || this.push(payload)) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  endOfPeer(): void {
    if (this.#peerEnded || this.destroyed) return;
    this.#peerEnded = true;
    this.push(null);
  }

  resetByPeer(error: Error): void {
    this.#reset = true;
    // What both ends have finished needs no failure.
    if (this.#peerEnded && this.writableFinished) this.destroy();
    else this.destroy(error);
  }

  refuse(): void {
    this.#reset = true;
    this.#output.reset(resetStatus.refusedStream);
    this.destroy();
  }

  override _read(): void {
    this.#awake();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    let at = 0;
    const next = (error?: Error | null): void => {
      if (error || at >= chunk.length) {
        done(error);
        return;
      }
      const piece = chunk.subarray(at, at + largestData);
      at += piece.length;
      this.#output.data(piece, false, next);
    };
    next();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#output.data(Buffer.alloc(0), true, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#reset && !(this.#peerEnded && this.writableFinished)) this.#output.reset(resetStatus.cancel);
    this.#awake();
    this.#output.forget();
    done(error);
  }

  #awake(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

function broken(message: string, cause?: unknown): ClientError {
  return new ClientError("StreamBroken", message, cause === undefined ? undefined : { cause });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
