/** Speaks PostgreSQL's protocol over a socket: simple queries only, so that the agent needs no package. */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto";
import { connect as connectSocket, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

export interface PgOptions {
  /** A directory is that of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
  readonly applicationName?: string;
  /** Asks for TLS, and accepts nothing else. */
  readonly tls?: ConnectionOptions;
  /** How long connecting may take, authentication included. Default: 2000. */
  readonly connectTimeoutMs?: number;
  /** How long a query may take. Default: 5000. */
  readonly queryTimeoutMs?: number;
  /** In place of a TCP connection of our own. */
  readonly dial?: () => Promise<Socket>;
  /** Notices and warnings. */
  readonly onNotice?: (fields: PgErrorFields) => void;
}

export type PgRow = Readonly<{ [column: string]: string | null }>;

export interface PgErrorFields {
  readonly severity: string;
  readonly code: string;
  readonly message: string;
}

/** An error that the server sent, with its SQLSTATE; `08006` where the connection ended. */
export class PgError extends Error {
  readonly code: string;
  readonly severity: string;

  constructor({ severity, code, message }: PgErrorFields, options?: ErrorOptions) {
    super(message, options);
    this.name = "PgError";
    this.code = code;
    this.severity = severity;
  }
}

/** The server did not say anything in time. The cause of a `PgError` that ends the connection. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

interface Pending {
  readonly rows: PgRow[];
  columns: string[];
  error?: PgError;
  readonly settle: (error?: Error) => void;
}

export class PgClient implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #options: PgOptions;
  #buffer: Buffer = Buffer.alloc(0);
  #pending: Pending | undefined;
  #closed: Error | undefined;
  #scram: Scram | undefined;

  private constructor(socket: Socket, options: PgOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(undefined));
  }

  static async connect(options: PgOptions): Promise<PgClient> {
    const timeoutMs = options.connectTimeoutMs ?? 2_000;
    const signal = AbortSignal.timeout(timeoutMs);
    const plain = await (options.dial ? within(options.dial(), signal) : open(options, signal));
    const socket = options.tls ? await secure(plain, options.tls, signal) : plain;
    const client = new PgClient(socket, options);
    const parameters = {
      user: options.user,
      database: options.database,
      application_name: options.applicationName ?? "keelson",
      client_encoding: "UTF8",
    };
    const body = Object.entries(parameters).flat();
    const text = Buffer.from(`${body.join("\0")}\0\0`);
    const version = Buffer.alloc(8);
    version.writeInt32BE(text.length + 8, 0);
    version.writeInt32BE(196_608, 4);
    try {
      await client.#exchange(Buffer.concat([version, text]), timeoutMs);
      return client;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Runs one or more statements, and returns the rows of the last that had any. */
  async query(sql: string, options: { readonly timeoutMs?: number } = {}): Promise<PgRow[]> {
    return await this.#exchange(
      message("Q", `${sql}\0`),
      options.timeoutMs ?? this.#options.queryTimeoutMs ?? 5_000,
    );
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#socket.end(message("X", ""));
    this.#socket.destroySoon();
    this.#end(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #exchange(bytes: Buffer, timeoutMs: number): Promise<PgRow[]> {
    if (this.#closed) throw this.#closed;
    if (this.#pending)
      throw new PgError({ severity: "ERROR", code: "0A000", message: "a query is under way" });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const pending: Pending = {
      rows: [],
      columns: [],
      settle: (error) => {
        this.#pending = undefined;
        if (error) reject(error);
        else resolve();
      },
    };
    this.#pending = pending;
    // What a server was asked and did not answer in time has an unknown end: the connection goes with it.
    const timer = setTimeout(() => this.#end(new NoAnswer(`no answer within ${timeoutMs} ms`)), timeoutMs);
    this.#socket.write(bytes);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
    return pending.rows;
  }

  #end(cause: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = new PgError(
      {
        severity: "FATAL",
        code: "08006",
        message: `the connection ended${cause ? `: ${cause.message}` : ""}`,
      },
      { cause },
    );
    this.#socket.destroy();
    this.#pending?.settle(this.#pending.error ?? this.#closed);
  }

  #read(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    while (this.#buffer.length >= 5) {
      const length = this.#buffer.readInt32BE(1);
      if (this.#buffer.length < length + 1) return;
      const type = String.fromCharCode(this.#buffer[0] ?? 0);
      const body = this.#buffer.subarray(5, length + 1);
      this.#buffer = this.#buffer.subarray(length + 1);
      try {
        this.#handle(type, body);
      } catch (error) {
        this.#end(error as Error);
      }
    }
  }

  #handle(type: string, body: Buffer): void {
    const pending = this.#pending;
    switch (type) {
      case "R":
        this.#authenticate(body);
        break;
      case "T":
        if (pending) {
          pending.columns = columnsOf(body);
          pending.rows.length = 0;
        }
        break;
      case "D":
        pending?.rows.push(rowOf(body, pending.columns));
        break;
      case "E": {
        const error = new PgError(fieldsOf(body));
        if (pending) pending.error = error;
        if (error.severity === "FATAL" || error.severity === "PANIC") pending?.settle(error);
        break;
      }
      case "N":
        this.#options.onNotice?.(fieldsOf(body));
        break;
      case "Z":
        pending?.settle(pending.error);
        break;
      default:
        break;
    }
  }

  #authenticate(body: Buffer): void {
    const password = this.#options.password ?? "";
    switch (body.readInt32BE(0)) {
      case 0:
        return;
      case 3:
        this.#socket.write(message("p", `${password}\0`));
        return;
      case 10:
        this.#scram = new Scram(password);
        this.#socket.write(this.#scram.first());
        return;
      case 11:
        this.#socket.write(this.#required().final(body.subarray(4).toString()));
        return;
      case 12:
        this.#required().verify(body.subarray(4).toString());
        return;
      default:
        throw new PgError({
          severity: "FATAL",
          code: "28000",
          message: "the server asks for an unknown authentication",
        });
    }
  }

  #required(): Scram {
    if (!this.#scram) throw new Error("the server continues an exchange that did not begin");
    return this.#scram;
  }
}

/** SCRAM-SHA-256 without channel binding. */
class Scram {
  readonly #password: string;
  readonly #nonce = randomBytes(18).toString("base64");
  #signature: Buffer = Buffer.alloc(0);

  constructor(password: string) {
    this.#password = password;
  }

  first(): Buffer {
    const text = Buffer.from(`n,,n=,r=${this.#nonce}`);
    const length = Buffer.alloc(4);
    length.writeInt32BE(text.length);
    return message("p", Buffer.concat([Buffer.from("SCRAM-SHA-256\0"), length, text]));
  }

  final(challenge: string): Buffer {
    const { r = "", s = "", i = "0" } = attributesOf(challenge);
    if (!r.startsWith(this.#nonce)) throw new Error("the server answered another exchange");
    const salted = pbkdf2Sync(this.#password, Buffer.from(s, "base64"), Number(i), 32, "sha256");
    const clientKey = hmac(salted, "Client Key");
    const stored = createHash("sha256").update(clientKey).digest();
    const own = `c=biws,r=${r}`;
    const whole = `n=,r=${this.#nonce},${challenge},${own}`;
    const proof = hmac(stored, whole).map((byte, at) => byte ^ (clientKey[at] ?? 0));
    this.#signature = hmac(hmac(salted, "Server Key"), whole);
    return message("p", Buffer.from(`${own},p=${Buffer.from(proof).toString("base64")}`));
  }

  verify(answer: string): void {
    const signature = Buffer.from(attributesOf(answer)["v"] ?? "", "base64");
    if (signature.length !== this.#signature.length || !timingSafeEqual(signature, this.#signature)) {
      throw new Error("the server does not know the password either");
    }
  }
}

/** What `pg_authid` keeps of a password: reading it is not enough to log in. */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16), iterations = 4_096): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const stored = createHash("sha256").update(hmac(salted, "Client Key")).digest("base64");
  const server = hmac(salted, "Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${server}`;
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteLiteral(value: string): string {
  const quoted = `'${value.replaceAll("'", "''").replaceAll("\\", "\\\\")}'`;
  return value.includes("\\") ? ` E${quoted}` : quoted;
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function attributesOf(text: string): { [name: string]: string | undefined } {
  return Object.fromEntries(text.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
}

function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body as string);
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

function columnsOf(body: Buffer): string[] {
  const columns: string[] = [];
  let at = 2;
  for (let count = body.readInt16BE(0); count > 0; count--) {
    const end = body.indexOf(0, at);
    columns.push(body.toString("utf8", at, end));
    at = end + 19;
  }
  return columns;
}

function rowOf(body: Buffer, columns: readonly string[]): PgRow {
  const row: { [column: string]: string | null } = {};
  let at = 2;
  for (const column of columns) {
    const length = body.readInt32BE(at);
    at += 4;
    row[column] = length < 0 ? null : body.toString("utf8", at, at + length);
    at += Math.max(0, length);
  }
  return row;
}

function fieldsOf(body: Buffer): PgErrorFields {
  const fields: { [type: string]: string } = {};
  for (const part of body.toString("utf8").split("\0")) {
    if (part !== "") fields[part.slice(0, 1)] = part.slice(1);
  }
  return {
    severity: fields["V"] ?? fields["S"] ?? "ERROR",
    code: fields["C"] ?? "XX000",
    message: fields["M"] ?? "",
  };
}

async function open({ host, port }: PgOptions, signal: AbortSignal): Promise<Socket> {
  const socket = host.startsWith("/")
    ? connectSocket({ path: `${host}/.s.PGSQL.${port}` })
    : connectSocket({ host, port, noDelay: true, keepAlive: true });
  return await connected(socket, "connect", signal);
}

async function secure(plain: Socket, tls: ConnectionOptions, signal: AbortSignal): Promise<Socket> {
  const request = Buffer.alloc(8);
  request.writeInt32BE(8, 0);
  request.writeInt32BE(80_877_103, 4);
  plain.write(request);
  const answer = await within(new Promise<Buffer>((resolve) => plain.once("data", resolve)), signal);
  if (answer.toString() !== "S") {
    plain.destroy();
    throw new PgError({ severity: "FATAL", code: "08001", message: "the server does not speak TLS" });
  }
  return await connected(connectTls({ ...tls, socket: plain }), "secureConnect", signal);
}

/** Connecting has a deadline of its own: a dropped SYN would hold us for two minutes. */
async function connected(socket: Socket, event: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const abort = () => socket.destroy(new Error("connecting took too long"));
  const fail = (error: Error) => reject(error);
  socket.once(event, () => resolve(socket));
  socket.once("error", fail);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await promise;
  } finally {
    socket.off("error", fail);
    signal.removeEventListener("abort", abort);
  }
}

async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error("connecting took too long"));
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
