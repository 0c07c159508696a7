/**
 * A GET whose answer flows for long, such as a watch, on a connection of its own. What arrives is read into large
 * buffers and stripped of its framing in place: the general way costs several times more, most of it per event.
 */
import type { Socket } from "node:net";
import type { Clock, HttpHeaders, HttpRequest, HttpResponse } from "@keelson/core";
import { Answer } from "./answer.ts";
import { type DialTarget, dial } from "./dial.ts";
import { connectionFailed, connectionLost } from "./failures.ts";
import { headerLines, requestHead } from "./request-head.ts";
import { ResponseBody } from "./response-body.ts";
import { ResponseParser } from "./response-parser.ts";

/** A quiet watch lives in its first buffer for hours. */
const firstBuffer = 64 << 10;
const nextBuffer = 256 << 10;
/** A TLS record and its framing; there is no use in reading into less. */
const leastRoom = 17 << 10;

/**
 * A read of so much, or one that follows another so soon, is one of several in a row, and the reader is woken once for
 * all, up to this much. An API server that sends a whole state flushes each object of it: thousands of small reads.
 */
const largeRead = 8 << 10;
const rushMs = 0.3;
const handOut = 128 << 10;

/** Sends the request and resolves with the head of the answer. `onOpen` gets the socket, to be closed at the end. */
export async function openStream(
  target: DialTarget,
  request: HttpRequest,
  headers: HttpHeaders,
  onOpen: (socket: Socket) => void,
): Promise<HttpResponse> {
  const { signal } = request;
  const head = requestHead(target.server, request, headerLines(target.server, headers, false));
  signal?.throwIfAborted();
  const stream = new Stream(target, request);
  let socket: Socket;
  try {
    socket = await dial({
      ...target,
      onread: { buffer: () => stream.room(), callback: (length) => stream.arrived(length) },
    });
  } catch (error) {
    throw signal?.aborted ? signal.reason : connectionFailed(target.server.text, error);
  }
  onOpen(socket);
  return await stream.exchange(socket, head);
}

class Stream {
  readonly #server: string;
  readonly #signal: AbortSignal | undefined;
  readonly #parser = new ResponseParser();
  readonly #response = Promise.withResolvers<HttpResponse>();
  readonly #body: ResponseBody;
  /** Where `HttpRequest.reuse` allows, buffers that were filled, in order, and how much had come with each. */
  readonly #filled: { readonly buffer: Buffer; readonly bytes: number }[] | undefined;
  /** Bytes of the body that were handed out. */
  #produced = 0;
  /** Reads go here, behind `#used`. */
  #buffer: Buffer = Buffer.allocUnsafeSlow(firstBuffer);
  #used = 0;
  /** From here to `#used` is body that has not been handed out. */
  #from = 0;
  #later: NodeJS.Immediate | undefined;
  readonly #clock: Clock;
  #arrivedAt = Number.NEGATIVE_INFINITY;
  #socket: Socket | undefined;
  #paused = false;
  #ended = false;
  readonly #onAbort = () => this.#fail(this.#signal?.reason);

  constructor({ server, clock }: DialTarget, { signal, reuse }: HttpRequest) {
    this.#server = server.text;
    this.#clock = clock;
    this.#signal = signal;
    this.#filled = reuse ? [] : undefined;
    this.#body = new ResponseBody({
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#socket?.resume();
      },
      cancel: () => this.#close(),
    });
  }

  exchange(socket: Socket, head: string): Promise<HttpResponse> {
    this.#socket = socket;
    // One that came through a proxy cannot read into our buffer.
    socket.on("data", (chunk: Buffer) => {
      const stop = this.#parse(chunk, 0, chunk.length);
      if (stop > 0) this.#body.push(chunk.subarray(0, stop));
      this.#settle();
      if (this.#paused) socket.pause();
    });
    socket.on("end", () => this.#onEnd());
    socket.on("close", () => this.#onEnd());
    socket.on("error", (error) => this.#fail(connectionLost(this.#server, error)));
    if (this.#signal?.aborted) this.#onAbort();
    else this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    socket.write(head);
    return this.#response.promise;
  }

  /** Where the next read goes. */
  room(): Buffer {
    if (this.#buffer.length - this.#used < leastRoom) {
      this.#handOut();
      this.#buffer = this.#nextBuffer();
      this.#used = 0;
      this.#from = 0;
    }
    return this.#buffer.subarray(this.#used);
  }

  #nextBuffer(): Buffer {
    if (!this.#filled) return Buffer.allocUnsafeSlow(nextBuffer);
    this.#filled.push({ buffer: this.#buffer, bytes: this.#produced });
    const oldest = this.#filled[0];
    if (!oldest || oldest.bytes > this.#body.released) return Buffer.allocUnsafeSlow(nextBuffer);
    this.#filled.shift();
    return oldest.buffer;
  }

  /** False holds the socket back until it is resumed. */
  arrived(length: number): boolean {
    this.#used = this.#parse(this.#buffer, this.#used, this.#used + length);
    const now = this.#clock.monotonic();
    const alone = length < largeRead && now - this.#arrivedAt > rushMs;
    this.#arrivedAt = now;
    if (this.#parser.done || alone || this.#used - this.#from >= handOut) this.#handOut();
    else this.#later ??= setImmediate(() => this.#handOut());
    this.#settle();
    return !this.#paused;
  }

  #handOut(): void {
    if (this.#later) clearImmediate(this.#later);
    this.#later = undefined;
    if (this.#used === this.#from) return;
    const piece = this.#buffer.subarray(this.#from, this.#used);
    this.#produced += piece.length;
    this.#from = this.#used;
    if (!this.#ended) this.#body.push(piece);
  }

  /** Returns where the body in it ends. */
  #parse(bytes: Buffer, start: number, end: number): number {
    if (this.#ended) return start;
    try {
      const known = this.#parser.head;
      const stop = this.#parser.read(bytes, start, end);
      const { head } = this.#parser;
      if (head && !known) {
        this.#response.resolve(new Answer(head, this.#body));
      }
      return stop;
    } catch (error) {
      this.#fail(connectionLost(this.#server, error));
      return start;
    }
  }

  #settle(): void {
    if (this.#ended || !this.#parser.done) return;
    this.#body.end();
    this.#close();
  }

  #onEnd(): void {
    if (this.#ended) return;
    this.#handOut();
    if (this.#parser.end()) this.#settle();
    else this.#fail(connectionLost(this.#server, new Error("the server closed it")));
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#handOut();
    this.#close();
    this.#body.fail(error);
    this.#response.reject(error);
  }

  #close(): void {
    this.#ended = true;
    if (this.#later) clearImmediate(this.#later);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#socket?.destroy();
  }
}
