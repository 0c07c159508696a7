/** One connection to a Redis server. Connecting has a deadline, and so has every call. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { RedisError } from "./errors.ts";
import { encodeCommand, type Reply, ReplyParser } from "./resp.ts";

export interface TlsTrust {
  readonly ca: string;
  /** The name that the certificate must have; the address says nothing. */
  readonly serverName: string;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsTrust;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface DialOptions {
  readonly credentials?: Credentials;
  /** For connecting, and for every call that names none. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type Command = readonly (string | number | Uint8Array)[];

interface Pending {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export class RedisConnection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #what: string;
  readonly #timeoutMs: number;
  readonly #parser = new ReplyParser();
  readonly #pending: Pending[] = [];
  #failure: RedisError | undefined;

  private constructor(socket: Socket, what: string, timeoutMs: number) {
    this.#socket = socket;
    this.#what = what;
    this.#timeoutMs = timeoutMs;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(fromSystem(error, what)));
    socket.on("close", () => this.#fail(new RedisError("Unreachable", `${what} closed the connection`)));
  }

  /**
   * Rejects with `Refused` when nobody listens, with `Unreachable` when nobody answers in time, and with `Untrusted` when
   * it is not the server that we look for, as far as its certificate says.
   */
  static async open(address: RedisAddress, options: DialOptions): Promise<RedisConnection> {
    const what = `${address.host}:${address.port}`;
    return await RedisConnection.over(await openSocket(address, what, options), what, options);
  }

  /** On a socket that is connected already. */
  static async over(socket: Socket, what: string, options: DialOptions): Promise<RedisConnection> {
    const connection = new RedisConnection(socket, what, options.timeoutMs);
    const { credentials } = options;
    try {
      if (credentials) await connection.call(["AUTH", credentials.username, credentials.password]);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** SHA-256 of the certificate that the server presented; undefined without TLS. */
  get fingerprint(): string | undefined {
    return this.#socket instanceof TLSSocket
      ? this.#socket.getPeerX509Certificate()?.fingerprint256
      : undefined;
  }

  /** Rejects with what the server answered when that is an error. */
  async call(command: Command, options: { readonly timeoutMs?: number } = {}): Promise<Reply> {
    const [reply] = await this.batch([command], options);
    if (reply instanceof RedisError) throw reply;
    return reply ?? null;
  }

  /** Sends all at once; errors that the server answers are among the replies. */
  async batch(
    commands: readonly Command[],
    { timeoutMs = this.#timeoutMs }: { readonly timeoutMs?: number } = {},
  ): Promise<Reply[]> {
    if (this.#failure) throw this.#failure;
    const timer = setTimeout(() => {
      this.#fail(new RedisError("Unreachable", `${this.#what} did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    try {
      const replies = commands.map(
        () => new Promise<Reply>((resolve, reject) => this.#pending.push({ resolve, reject })),
      );
      this.#socket.write(Buffer.concat(commands.map(encodeCommand)));
      return await Promise.all(replies);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Gives the socket away, for answers that are no replies; nothing may be under way. */
  release(): Socket {
    this.#socket.removeAllListeners("data").removeAllListeners("error").removeAllListeners("close");
    return this.#socket;
  }

  close(): void {
    this.#failure ??= new RedisError("Unreachable", `the connection to ${this.#what} is closed`);
    this.#socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #take(chunk: Buffer): void {
    try {
      for (const reply of this.#parser.push(chunk)) this.#pending.shift()?.resolve(reply);
    } catch (error) {
      this.#fail(
        error instanceof RedisError ? error : new RedisError("Protocol", String(error), { cause: error }),
      );
    }
  }

  #fail(error: RedisError): void {
    this.#failure ??= error;
    this.#socket.destroy();
    for (const { reject } of this.#pending.splice(0)) reject(this.#failure);
  }
}

async function openSocket(address: RedisAddress, what: string, options: DialOptions): Promise<Socket> {
  const { host, port, tls } = address;
  const { timeoutMs, signal } = options;
  signal?.throwIfAborted();
  return await new Promise<Socket>((resolve, reject) => {
    const socket: Socket = tls
      ? connectTls({ host, port, ca: tls.ca, servername: tls.serverName })
      : connectTcp({ host, port });
    const give = (error: Error) => {
      settle();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(error);
    };
    const onError = (error: Error) => give(fromSystem(error, what));
    const onAbort = () => give(signal?.reason as Error);
    const timer = setTimeout(
      () => give(new RedisError("Unreachable", `${what} did not accept a connection within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const settle = () => {
      clearTimeout(timer);
      socket.off("error", onError);
      signal?.removeEventListener("abort", onAbort);
    };
    socket.setNoDelay(true);
    socket.on("error", onError);
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.once(tls ? "secureConnect" : "connect", () => {
      settle();
      resolve(socket);
    });
  });
}

function fromSystem(error: Error & { code?: string }, what: string): RedisError {
  const isUntrusted = /CERT|UNABLE_TO_VERIFY/.test(error.code ?? "");
  const code = error.code === "ECONNREFUSED" ? "Refused" : isUntrusted ? "Untrusted" : "Unreachable";
  return new RedisError(code, `cannot reach ${what}: ${error.message}`, { cause: error });
}
