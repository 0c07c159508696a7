/** The streams of a remote command, whichever protocol carries them. */
import { Duplex, PassThrough, type Readable, type Writable } from "node:stream";
import { SpdyConnection, type SpdyStream } from "@keelson/client/internal/spdy";
import { WebSocketConnection } from "@keelson/client/internal/websocket";
import { parseJson } from "@keelson/core";
import type { TerminalSize } from "../runtime/container-runtime.ts";
import type { Upgrade } from "./upgrade.ts";

export interface StreamRequest {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface CommandStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  onResize(listener: (size: TerminalSize) => void): void;
  /** Resolves when the client is gone. */
  readonly closed: Promise<unknown>;
  /** Tells the client how it ended, after everything written has been sent, and closes. */
  finish(outcome: CommandOutcome): Promise<void>;
  /** Breaks off: the client is not worth waiting for. */
  destroy(): void;
}

export type CommandOutcome = { readonly exitCode: number } | { readonly error: string };

export const commandProtocols = {
  spdy: ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"],
  websocket: [
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
  ],
};

const streamTimeoutMs = 30_000;
/** Many sizes at once are read; a text without an end is not. */
const longestSizes = 64 * 1024;

export async function openCommandStreams(upgrade: Upgrade, request: StreamRequest): Promise<CommandStreams> {
  return upgrade.kind === "spdy" ? await overSpdy(upgrade, request) : overWebSocket(upgrade, request);
}

async function overSpdy(upgrade: Upgrade, request: StreamRequest): Promise<CommandStreams> {
  const streams = new Map<string, SpdyStream>();
  // The first two versions had no resizing.
  const resizes = request.tty && /^v[345]/.test(upgrade.protocol);
  const expected = [
    "error",
    ...(request.stdin ? ["stdin"] : []),
    ...(request.stdout ? ["stdout"] : []),
    ...(request.stderr && !request.tty ? ["stderr"] : []),
    ...(resizes ? ["resize"] : []),
  ];
  const { promise: complete, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new Error("timed out waiting for client to create streams")),
    streamTimeoutMs,
  );
  const connection = new SpdyConnection(upgrade.stream, {
    role: "server",
    onStream: (stream) => {
      streams.set(stream.headers.streamtype ?? "", stream);
      if (expected.every((name) => streams.has(name))) resolve();
    },
  });
  connection.closed.then(() => reject(new Error("the client went away")));
  await complete.finally(() => clearTimeout(timer));
  const error = streams.get("error");
  return {
    stdin: streams.get("stdin"),
    stdout: streams.get("stdout"),
    stderr: streams.get("stderr"),
    closed: connection.closed,
    onResize: (listener) => readSizes(streams.get("resize"), listener),
    async finish(outcome) {
      await Promise.all([streams.get("stdout"), streams.get("stderr")].map(ended));
      error?.end(describe(outcome, /^v[45]/.test(upgrade.protocol)));
      await ended(error);
      await connection.close();
    },
    destroy: () => void upgrade.stream.destroy(),
  };
}

const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 };

function overWebSocket(upgrade: Upgrade, request: StreamRequest): CommandStreams {
  const socket = new WebSocketConnection(upgrade.stream, { role: "server" });
  const stdin = request.stdin ? new PassThrough() : undefined;
  // The size comes as soon as the connection stands; who wants it comes when the command runs.
  let size: TerminalSize | undefined;
  let onResize: (size: TerminalSize) => void = (given) => {
    size = given;
  };
  const writer = (number: number): Writable =>
    new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        socket.send(Buffer.concat([Buffer.from([number]), chunk])).then(() => done(), done);
      },
    }).on("error", () => undefined);
  const receive = async () => {
    for await (const { data } of socket) {
      const payload = data.subarray(1);
      if (data[0] === channel.stdin && payload.length > 0) await written(stdin, payload, upgrade.stream);
      else if (data[0] === channel.close && payload[0] === channel.stdin) stdin?.end();
      else if (data[0] === channel.resize) parseSize(payload.toString("utf8"), (given) => onResize(given));
    }
  };
  const closed = receive()
    .catch(() => undefined)
    .finally(() => stdin?.end());
  const stdout = request.stdout ? writer(channel.stdout) : undefined;
  const stderr = request.stderr && !request.tty ? writer(channel.stderr) : undefined;
  return {
    stdin,
    stdout,
    stderr,
    closed,
    onResize: (listener) => {
      onResize = listener;
      if (size !== undefined) listener(size);
    },
    async finish(outcome) {
      const text = describe(outcome, /^v[45]/.test(upgrade.protocol));
      // What is still on its way comes before the end: clients hang up when they hear of that.
      await Promise.all([stdout, stderr].map(ended));
      await socket
        .send(Buffer.concat([Buffer.from([channel.error]), Buffer.from(text)]))
        .catch(() => undefined);
      await socket.close().catch(() => undefined);
    },
    destroy: () => socket.destroy(),
  };
}

/** Resolves when there is room for more: a command that does not read holds its client up, and not the node's memory. */
async function written(to: Writable | undefined, chunk: Buffer, client: Duplex): Promise<void> {
  if (to === undefined || to.destroyed || to.write(chunk)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      to.off("drain", go).off("close", go);
      client.off("close", go);
      resolve();
    };
    to.once("drain", go).once("close", go);
    client.once("close", go);
  });
}

/** From version 4 on a Status object, before that the bare message. */
function describe(outcome: CommandOutcome, structured: boolean): string {
  if ("exitCode" in outcome) {
    if (outcome.exitCode === 0) return structured ? JSON.stringify({ metadata: {}, status: "Success" }) : "";
    const message = `command terminated with non-zero exit code: exit status ${outcome.exitCode}`;
    if (!structured) return message;
    return JSON.stringify({
      metadata: {},
      status: "Failure",
      message,
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: String(outcome.exitCode) }] },
    });
  }
  if (!structured) return outcome.error;
  return JSON.stringify({
    metadata: {},
    status: "Failure",
    message: outcome.error,
    reason: "InternalError",
    code: 500,
  });
}

function readSizes(stream: Readable | undefined, listener: (size: TerminalSize) => void): void {
  let text = "";
  stream?.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    if (text.length > longestSizes) return void stream.destroy();
    for (let end = text.indexOf("}"); end >= 0; end = text.indexOf("}")) {
      parseSize(text.slice(0, end + 1), listener);
      text = text.slice(end + 1);
    }
  });
}

function parseSize(text: string, listener: (size: TerminalSize) => void): void {
  try {
    const { Width, Height } = parseJson(text) as { Width: number; Height: number };
    if (Width > 0 && Height > 0) listener({ columns: Width, rows: Height });
  } catch {
    // A size that cannot be read is no reason to break a session.
  }
}

function ended(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream
      .once("close", resolve)
      .once("finish", resolve)
      .once("error", () => resolve());
    stream.end();
  });
}
