/** exec and attach: a process in a container, with its streams, its size and its end. */
import { Readable, Writable } from "node:stream";
import { type ObjectRef, parseJson, type Status } from "@keelson/core";
import type { Client, RequestOptions } from "../client/client.ts";
import { type Query, withQuery } from "../client/paths.ts";
import { ApiError, ClientError } from "../errors.ts";
import type { WebSocketConnection } from "../websocket/connection.ts";
import { openStream, podPath } from "./streaming.ts";

/** Which streams of a running container are attached to. */
export interface AttachOptions extends RequestOptions {
  /** Default: the first one, or the one that the pod names as its default. */
  readonly container?: string;
  /** Opens standard input. Default: off. */
  readonly stdin?: boolean;
  /** A terminal: `stderr` stays empty, for all goes to `stdout`. */
  readonly tty?: boolean;
  /** False leaves it out. Default: on. */
  readonly stdout?: boolean;
  readonly stderr?: boolean;
}

/** A command for a container, and its streams. */
export interface ExecOptions extends AttachOptions {
  readonly command: readonly string[];
}

/** A command for a container, and its input. */
export interface RunOptions extends RequestOptions {
  readonly container?: string;
  readonly command: readonly string[];
  readonly input?: string | Uint8Array;
}

/** How a command in a container ended, and what it printed. */
export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * A process in a container. `stdout` and `stderr` share one connection: a reader of only one of them must
 * `resume()` the other or leave it out, or both block after a megabyte.
 */
export interface RemoteProcess {
  /** Ending it closes the process's standard input, on servers since 1.30. Undefined unless asked for. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * The exit code. Rejects when the process could not be started or the connection broke before its end. For
   * `attach` it resolves with 0 when the connection ends.
   */
  readonly exit: Promise<number>;
  resize(size: TerminalSize): Promise<void>;
  /** Lets go of the process, which goes on by itself. */
  close(): void;
}

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const v5 = "v5.channel.k8s.io";
const v4 = "v4.channel.k8s.io";
const outputHighWater = 1 << 20;
const runTimeoutMs = 60_000;

export async function exec(client: Client, ref: ObjectRef, options: ExecOptions): Promise<RemoteProcess> {
  const doing = `run ${options.command[0] ?? "nothing"} in Pod ${ref.namespace}/${ref.name}`;
  if (options.command.length === 0)
    throw new ClientError("InvalidRequest", `cannot ${doing}: no command was given`);
  const path = withCommand(withQuery(podPath(ref, "exec", doing), streamQuery(options)), options.command);
  return await open(client, doing, path, options, false);
}

export async function attach(
  client: Client,
  ref: ObjectRef,
  options: AttachOptions = {},
): Promise<RemoteProcess> {
  const doing = `attach to Pod ${ref.namespace}/${ref.name}`;
  return await open(
    client,
    doing,
    withQuery(podPath(ref, "attach", doing), streamQuery(options)),
    options,
    true,
  );
}

export async function run(client: Client, ref: ObjectRef, options: RunOptions): Promise<RunResult> {
  const timeoutMs = options.timeoutMs ?? runTimeoutMs;
  const doing = `run ${options.command[0] ?? "nothing"} in Pod ${ref.namespace}/${ref.name}`;
  const process = await exec(client, ref, { ...options, stdin: options.input !== undefined });
  let expired = false;
  const cancel = client.clock.timer(timeoutMs, () => {
    expired = true;
    process.close();
  });
  try {
    process.stdin?.end(options.input);
    const [stdout, stderr, code] = await Promise.all([
      text(process.stdout),
      text(process.stderr),
      process.exit,
    ]);
    return { code, stdout, stderr };
  } catch (error) {
    if (!expired) throw error;
    throw new ClientError(
      "Timeout",
      `cannot ${doing}: it did not end within ${timeoutMs} ms; it may still be running`,
      {
        cause: error,
      },
    );
  } finally {
    cancel();
    process.close();
  }
}

function streamQuery(options: AttachOptions): Query {
  return {
    container: options.container,
    stdin: options.stdin || undefined,
    stdout: options.stdout ?? true,
    stderr: (options.stderr ?? true) && !options.tty,
    tty: options.tty || undefined,
  };
}

function withCommand(path: string, command: readonly string[]): string {
  return command.reduce((out, part) => `${out}&command=${encodeURIComponent(part)}`, path);
}

async function open(
  client: Client,
  doing: string,
  path: string,
  options: AttachOptions,
  endless: boolean,
): Promise<RemoteProcess> {
  const { socket, protocol } = await openStream(client, {
    doing,
    path,
    protocols: [v5, v4],
    signal: options.signal,
    timeoutMs: options.timeoutMs,
  });
  return new ChannelProcess(socket, {
    doing,
    endless,
    canCloseInput: protocol === v5,
    stdin: options.stdin ?? false,
  });
}

interface ProcessSettings {
  readonly doing: string;
  readonly endless: boolean;
  readonly canCloseInput: boolean;
  readonly stdin: boolean;
}

/** The channel protocol: each message begins with the number of the stream it belongs to. */
class ChannelProcess implements RemoteProcess {
  readonly #socket: WebSocketConnection;
  readonly #settings: ProcessSettings;
  readonly stdin: Writable | undefined;
  readonly stdout = new Output();
  readonly stderr = new Output();
  readonly exit: Promise<number>;
  #closed = false;

  constructor(socket: WebSocketConnection, settings: ProcessSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.stdin = settings.stdin ? this.#input() : undefined;
    this.exit = this.#receive();
    // A caller who does not wait for the end must not be ended by it.
    this.exit.catch(() => {});
  }

  async resize(size: TerminalSize): Promise<void> {
    const message = JSON.stringify({ Width: size.columns, Height: size.rows });
    await this.#send(channel.resize, Buffer.from(message));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#socket.close().catch(() => this.#socket.destroy());
  }

  async #receive(): Promise<number> {
    let status: Status | undefined;
    try {
      for await (const { data } of this.#socket) {
        const payload = data.subarray(1);
        if (data[0] === channel.stdout) await this.stdout.receive(payload);
        else if (data[0] === channel.stderr) await this.stderr.receive(payload);
        else if (data[0] === channel.error && payload.length > 0) status = parseStatus(payload);
      }
    } catch (cause) {
      if (status === undefined) this.#fail(cause);
    }
    const code = this.#exitCode(status);
    this.stdout.push(null);
    this.stderr.push(null);
    this.stdin?.destroy();
    return code;
  }

  #exitCode(status: Status | undefined): number {
    if (status?.status === "Success") return 0;
    if (status === undefined) {
      if (this.#settings.endless) return 0;
      const why = this.#closed
        ? "it was let go before its end"
        : "the connection ended before the process did";
      return this.#fail(new Error(why));
    }
    const exit = status.details?.causes?.find((cause) => cause.reason === "ExitCode");
    if ((status.reason as string) === "NonZeroExitCode" && exit?.message) return Number(exit.message);
    return this.#fail(new ApiError(status, { doing: this.#settings.doing }));
  }

  #fail(cause: unknown): never {
    const error =
      cause instanceof ApiError
        ? cause
        : new ClientError("StreamBroken", `cannot ${this.#settings.doing}: ${(cause as Error).message}`, {
            cause,
          });
    this.stdout.destroy(error);
    this.stderr.destroy(error);
    this.stdin?.destroy(error);
    throw error;
  }

  #input(): Writable {
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#send(channel.stdin, chunk).then(() => done(), done);
      },
      final: (done) => {
        if (!this.#settings.canCloseInput) return void done();
        this.#send(channel.close, Buffer.from([channel.stdin])).then(
          () => done(),
          () => done(),
        );
      },
    });
    // The process may end before it has read all: `exit` tells.
    input.on("error", () => {});
    return input;
  }

  async #send(to: number, payload: Uint8Array): Promise<void> {
    await this.#socket.send(Buffer.concat([Buffer.from([to]), payload]));
  }
}

/** What the process writes; the connection rests while more than a megabyte of it waits. */
class Output extends Readable {
  #wake: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: outputHighWater });
    this.on("error", () => {});
  }

  async receive(payload: Buffer): Promise<void> {
    if (payload.length === 0 || this.destroyed || this.push(payload)) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  override _read(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this._read();
    done(error);
  }
}

function parseStatus(payload: Buffer): Status {
  const text = payload.toString("utf8");
  try {
    return parseJson(text) as Status;
  } catch {
    return { status: "Failure", message: text };
  }
}

async function text(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
