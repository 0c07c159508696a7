/**
 * Requests and answers over a few connections that are kept open: HTTP/1.1, one request at a time on each. What is read
 * is parsed at once, so that all connections read into the same memory.
 */
import type { Socket } from "node:net";
import type { Cancel, HttpHeaders, HttpRequest, HttpResponse } from "@keelson/core";
import { backgroundClock } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";
import { Answer } from "./answer.ts";
import { type DialTarget, dial } from "./dial.ts";
import { connectionFailed, connectionLost } from "./failures.ts";
import { headerLines, requestHead } from "./request-head.ts";
import { type BodySource, ResponseBody } from "./response-body.ts";
import { ResponseParser } from "./response-parser.ts";

export interface PoolSettings {
  /** Requests under way at the same time; more wait their turn. */
  readonly connections: number;
  /** A connection that was not used for this long is closed. */
  readonly idleMs: number;
}

/** As much as a TLS record holds, four times. */
const readBytes = 64 << 10;
let shared: Buffer | undefined;

export class ConnectionPool {
  readonly #target: DialTarget;
  readonly #settings: PoolSettings;
  /** The one that was used last is used next, so that those that are not needed grow old. */
  readonly #idle: Connection[] = [];
  readonly #open = new Set<Connection>();
  readonly #waiting = new Set<Exchange>();
  #dialing = 0;
  #closing: PromiseWithResolvers<void> | undefined;
  #sweep: Cancel | undefined;
  #letGo: NodeJS.Immediate | undefined;
  /** The headers of the last request, as they go over the wire: those of the next are mostly the same. */
  #written: { readonly headers: HttpHeaders; readonly lines: string } | undefined;

  constructor(target: DialTarget, settings: PoolSettings) {
    this.#target = target;
    this.#settings = settings;
  }

  async request(request: HttpRequest, headers: HttpHeaders): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    request.check?.();
    if (this.#closing) throw new ClientError("ConnectionFailed", "the client was closed");
    const { server } = this.#target;
    if (this.#written?.headers !== headers) {
      this.#written = { headers, lines: headerLines(server, headers, true) };
    }
    const head = requestHead(server, request, this.#written.lines);
    const exchange = new Exchange(server.text, request, head);
    const connection = this.#takeIdle();
    if (connection) {
      connection.carry(exchange);
    } else {
      this.#waiting.add(exchange);
      exchange.onAborted = () => this.#waiting.delete(exchange);
      this.#dialMore();
    }
    return exchange.response;
  }

  /** Lets what is under way finish. */
  async close(): Promise<void> {
    this.#closing ??= Promise.withResolvers();
    this.#sweep?.();
    for (const connection of this.#idle.splice(0)) connection.close();
    this.#settle();
    await this.#closing.promise;
  }

  #takeIdle(): Connection | undefined {
    const now = backgroundClock.monotonic();
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection || now < connection.idleUntil) return connection;
      // The timer that closes it is late, as on a busy machine: the server may be about to.
      connection.close();
    }
  }

  #dialMore(): void {
    const free = this.#settings.connections - this.#open.size - this.#dialing;
    const missing = Math.min(free, this.#waiting.size - this.#dialing);
    for (let i = 0; i < missing; i++) void this.#dial();
  }

  async #dial(): Promise<void> {
    this.#dialing++;
    shared ??= Buffer.allocUnsafeSlow(readBytes);
    const connection = new Connection(shared, {
      free: () => this.#freed(connection),
      closed: () => this.#closed(connection),
    });
    try {
      const socket = await dial({ ...this.#target, onread: connection.onread });
      this.#dialing--;
      this.#open.add(connection);
      connection.use(socket);
      this.#freed(connection);
    } catch (error) {
      this.#dialing--;
      const [first] = this.#waiting;
      if (first) {
        this.#waiting.delete(first);
        first.fail(connectionFailed(this.#target.server.text, error));
      }
      this.#dialMore();
      this.#settle();
    }
  }

  #freed(connection: Connection): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      if (!next.mayBegin()) continue;
      connection.carry(next);
      return;
    }
    if (this.#closing) {
      connection.close();
      return;
    }
    connection.rest(backgroundClock.monotonic(), this.#settings.idleMs);
    this.#idle.push(connection);
    this.#armSweep();
    // Most are taken again at once: only those that are not then are let go.
    this.#letGo ??= setImmediate(() => {
      this.#letGo = undefined;
      for (const each of this.#idle) each.unref();
    });
  }

  #closed(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#dialMore();
    this.#settle();
  }

  #armSweep(): void {
    if (this.#sweep || this.#idle.length === 0) return;
    const nextMs = Math.min(...this.#idle.map(({ idleUntil }) => idleUntil));
    // Neither an idle connection nor the wait for its end keeps a process alive.
    this.#sweep = backgroundClock.timer(nextMs - backgroundClock.monotonic(), () => {
      this.#sweep = undefined;
      const now = backgroundClock.monotonic();
      for (const each of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) each.close();
      this.#armSweep();
    });
  }

  #settle(): void {
    if (this.#open.size + this.#dialing + this.#waiting.size === 0) this.#closing?.resolve();
  }
}

interface ConnectionEvents {
  free(): void;
  closed(): void;
}

class Connection {
  readonly onread: { readonly buffer: Buffer; readonly callback: (length: number) => boolean };
  /** Not to be used again from here on. */
  idleUntil = 0;
  readonly #events: ConnectionEvents;
  #socket: Socket | undefined;
  #exchange: Exchange | undefined;
  #closed = false;
  #keepsAlive = true;
  /** How long the server keeps it when nothing is asked; told in some answers. */
  #keptMs = Number.POSITIVE_INFINITY;

  constructor(buffer: Buffer, events: ConnectionEvents) {
    this.#events = events;
    this.onread = { buffer, callback: (length) => this.#arrived(buffer, length) };
  }

  use(socket: Socket): void {
    this.#socket = socket;
    // One that came through a proxy cannot read into our memory.
    socket.on("data", (chunk: Buffer) => {
      if (!this.#arrived(chunk, chunk.length)) socket.pause();
    });
    socket.on("end", () => this.close());
    socket.on("error", (error) => this.#lost(error));
    socket.on("close", () => this.#lost(new Error("the server closed it")));
  }

  /** Nothing is to be carried for now. */
  rest(now: number, idleMs: number): void {
    this.idleUntil = now + Math.min(idleMs, this.#keptMs);
  }

  /** While it rests it does not keep the process alive. */
  unref(): void {
    if (!this.#keepsAlive) return;
    this.#keepsAlive = false;
    this.#socket?.unref();
  }

  carry(exchange: Exchange): void {
    const socket = this.#socket as Socket;
    if (!this.#keepsAlive) {
      this.#keepsAlive = true;
      socket.ref();
    }
    this.#exchange = exchange;
    exchange.start(this);
    const { head, body } = exchange;
    if (typeof body === "string") {
      socket.write(head + body);
    } else if (body === undefined) {
      socket.write(head);
    } else {
      socket.cork();
      socket.write(head);
      socket.write(body);
      socket.uncork();
    }
  }

  resume(): void {
    this.#socket?.resume();
  }

  close(): void {
    this.#socket?.destroy();
    this.#lost(new Error("the server closed it"));
  }

  /** False holds the socket back until it is resumed. */
  #arrived(bytes: Buffer, length: number): boolean {
    const exchange = this.#exchange;
    if (!exchange) {
      // Nothing was asked.
      this.close();
      return false;
    }
    try {
      exchange.read(bytes, length);
    } catch (error) {
      this.#socket?.destroy();
      this.#lost(error);
      return false;
    }
    if (!exchange.done) return !exchange.held;
    this.#exchange = undefined;
    this.#keptMs = exchange.keptMs ?? this.#keptMs;
    if (exchange.lasts && this.#keptMs > 0) this.#events.free();
    else this.close();
    return true;
  }

  #lost(error: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.lost(error);
    this.#events.closed();
  }
}

/** One request and its answer, of which the body is read from the connection. */
class Exchange implements BodySource {
  readonly head: string;
  readonly body: HttpRequest["body"];
  readonly response: Promise<HttpResponse>;
  /** Told when nobody waits for it any more, before it was sent. */
  onAborted: (() => void) | undefined;
  /** Nobody reads what has come. */
  held = false;
  readonly #server: string;
  readonly #signal: AbortSignal | undefined;
  readonly #check: HttpRequest["check"];
  readonly #parser: ResponseParser;
  #answer: ResponseBody | undefined;
  #connection: Connection | undefined;
  #resolve!: (response: HttpResponse) => void;
  #reject!: (error: unknown) => void;
  readonly #onAbort = () => this.#abort();

  constructor(server: string, { signal, body, method, check }: HttpRequest, head: string) {
    this.#server = server;
    this.#check = check;
    this.#signal = signal;
    this.head = head;
    this.body = body;
    this.#parser = new ResponseParser(method === "HEAD");
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get done(): boolean {
    return this.#parser.done;
  }

  get lasts(): boolean {
    return this.#parser.head?.lasts ?? false;
  }

  /** What the server says of how long it keeps the connection, less a second for what is on its way. */
  get keptMs(): number | undefined {
    const hint = this.#parser.head?.keepAlive;
    const seconds = hint === undefined ? undefined : /\btimeout=(\d+)/i.exec(hint)?.[1];
    return seconds === undefined ? undefined : (Number(seconds) - 1) * 1000;
  }

  /** Whether it may still be sent after it has waited; it has failed when not. */
  mayBegin(): boolean {
    try {
      this.#check?.();
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  start(connection: Connection): void {
    this.onAborted = undefined;
    this.#connection = connection;
  }

  read(bytes: Buffer, length: number): void {
    const stop = this.#parser.read(bytes, 0, length);
    const { head } = this.#parser;
    if (!head) return;
    if (!this.#answer) {
      this.#answer = new ResponseBody(this);
      this.#resolve(new Answer(head, this.#answer));
    }
    if (stop > 0) {
      const piece = Buffer.allocUnsafe(stop);
      bytes.copy(piece, 0, 0, stop);
      this.#answer.push(piece);
    }
    if (this.done) this.#end();
  }

  pause(): void {
    this.held = true;
  }

  resume(): void {
    this.held = false;
    this.#connection?.resume();
  }

  cancel(): void {
    this.#release();
    this.#connection?.close();
  }

  /** Nothing of it was sent. */
  fail(error: unknown): void {
    this.#release();
    this.#reject(error);
  }

  /** It was sent, and the connection broke. */
  lost(cause: unknown): void {
    if (this.#parser.end()) {
      this.#end();
      return;
    }
    this.#release();
    const error = this.#signal?.aborted ? this.#signal.reason : connectionLost(this.#server, cause);
    this.#answer?.fail(error);
    this.#reject(error);
  }

  #end(): void {
    this.#release();
    // It carries others from here on.
    this.#connection = undefined;
    this.#answer?.end();
  }

  #abort(): void {
    const reason: unknown = this.#signal?.reason;
    this.onAborted?.();
    this.#answer?.fail(reason);
    this.#reject(reason);
    this.#connection?.close();
  }

  #release(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}
