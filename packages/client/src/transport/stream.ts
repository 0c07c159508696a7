/**
 * A GET whose answer flows for long, such as a watch, on a connection of its own. What arrives is read into large
 * buffers and stripped of its framing in place: the general way costs several times more, most of it per event.
 */
import type { Socket } from "node:net";
import type { HttpHeaders, HttpRequest, HttpResponse } from "@keelson/core";
import { ClientError } from "../errors.ts";
import { type DialTarget, dial } from "./dial.ts";
import { connectionFailed, connectionLost } from "./failures.ts";
import { ResponseBody } from "./response-body.ts";
import { ResponseParser } from "./response-parser.ts";

/** A quiet watch lives in its first buffer for hours. */
const firstBuffer = 64 << 10;
const nextBuffer = 512 << 10;
/** A TLS record and its framing; there is no use in reading into less. */
const leastRoom = 17 << 10;

/** Reads from the socket go here. Nothing is written twice: what was handed out stays as it is. */
class Intake {
  buffer = Buffer.allocUnsafeSlow(firstBuffer);
  used = 0;

  /** Where the next read goes. */
  room(): Buffer {
    if (this.buffer.length - this.used < leastRoom) {
      this.buffer = Buffer.allocUnsafeSlow(nextBuffer);
      this.used = 0;
    }
    return this.buffer.subarray(this.used);
  }
}

/** Sends the request and resolves with the head of the answer. `onOpen` gets the socket, to be closed at the end. */
export async function openStream(
  target: DialTarget,
  request: HttpRequest,
  headers: HttpHeaders,
  onOpen: (socket: Socket) => void,
): Promise<HttpResponse> {
  const { signal } = request;
  const head = requestHead(target, request, headers);
  signal?.throwIfAborted();
  const stream = new Stream(target.server.text, signal);
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
  readonly #intake = new Intake();
  readonly #parser = new ResponseParser();
  readonly #response = Promise.withResolvers<HttpResponse>();
  readonly #body: ResponseBody;
  #socket: Socket | undefined;
  #paused = false;
  #ended = false;
  readonly #onAbort = () => this.#fail(this.#signal?.reason);

  constructor(server: string, signal: AbortSignal | undefined) {
    this.#server = server;
    this.#signal = signal;
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
      this.#read(chunk, 0, chunk.length);
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

  room(): Buffer {
    return this.#intake.room();
  }

  /** False holds the socket back until it is resumed. */
  arrived(length: number): boolean {
    const { buffer, used } = this.#intake;
    this.#intake.used = this.#read(buffer, used, used + length);
    return !this.#paused;
  }

  /** Returns where what must be kept of it ends. */
  #read(bytes: Buffer, start: number, end: number): number {
    if (this.#ended) return end;
    try {
      const known = this.#parser.head;
      const stop = this.#parser.read(bytes, start, end);
      const { head } = this.#parser;
      if (head && !known) this.#response.resolve({ ...head, body: this.#body });
      if (stop > start) this.#body.push(bytes.subarray(start, stop));
      if (this.#parser.done) this.#finish();
      return stop;
    } catch (error) {
      this.#fail(connectionLost(this.#server, error));
      return end;
    }
  }

  #onEnd(): void {
    if (this.#ended) return;
    if (this.#parser.end()) this.#finish();
    else this.#fail(connectionLost(this.#server, new Error("the server closed it")));
  }

  #finish(): void {
    this.#body.end();
    this.#close();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#close();
    this.#body.fail(error);
    this.#response.reject(error);
  }

  #close(): void {
    this.#ended = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#socket?.destroy();
  }
}

function requestHead({ server }: DialTarget, request: HttpRequest, headers: HttpHeaders): string {
  const host = server.host.includes(":") ? `[${server.host}]` : server.host;
  const standard = server.port === (server.secure ? 443 : 80);
  const lines = [
    `${request.method} ${server.prefix}${request.path} HTTP/1.1`,
    `host: ${standard ? host : `${host}:${server.port}`}`,
    "connection: close",
  ];
  for (const [name, value] of Object.entries(headers)) {
    for (const each of typeof value === "string" ? [value] : (value ?? [])) lines.push(`${name}: ${each}`);
  }
  const wrong = lines.find((line) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(line));
  if (wrong !== undefined || /\s/.test(request.path)) {
    const name = (wrong ?? "the path").split(":")[0];
    throw new ClientError(
      "InvalidRequest",
      `cannot send ${name}: it has characters that HTTP does not allow`,
    );
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}
