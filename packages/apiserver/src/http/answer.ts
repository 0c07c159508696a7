/** Answers on their way out to a socket: whole, in pieces, or as a stream. */
import type { IncomingMessage, ServerResponse as NodeResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import {
  type BodyStream,
  isPieces,
  lengthOf,
  type Pieces,
  type ServerResponse,
  type Sink,
} from "../messages/message.ts";

const gzipAboveBytes = 128 * 1024;
/** Longer bodies go out slab by slab, so that they never exist as a whole. */
const wholeBytes = 64 * 1024;
const slabBytes = 256 * 1024;
/** Longer texts are treated as bytes: they may be worth compressing. */
const longestText = 32 * 1024;

/** Breaks off when the client has taken nothing for `stuckMs`: what it makes progress with may last. */
export async function send(
  answer: ServerResponse,
  request: IncomingMessage,
  response: NodeResponse,
  stuckMs = 60_000,
): Promise<void> {
  if (typeof answer.body === "string" && answer.body.length <= longestText) {
    sendText(answer, answer.body, request, response);
    return;
  }
  const pieces = piecesOf(answer.body);
  const length = lengthOf(pieces);
  const { headers } = answer;
  if (length > wholeBytes) response.setTimeout(stuckMs, () => response.destroy());
  if (length > gzipAboveBytes && /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""))) {
    headers["content-encoding"] = "gzip";
    headers.vary = "Accept-Encoding";
    response.writeHead(answer.status, headers);
    if (request.method === "HEAD") response.end();
    else await sendCompressed(pieces, response);
    return;
  }
  if (answer.status !== 304 && answer.status !== 204) headers["content-length"] = String(length);
  response.writeHead(answer.status, headers);
  if (request.method === "HEAD") response.end();
  else if (length <= wholeBytes)
    response.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length));
  else await sendPieces(pieces, response);
}

/** Compressed as it goes out: of what is long, neither form ever exists as a whole. */
async function sendCompressed(pieces: Pieces, response: NodeResponse): Promise<void> {
  const compression = createGzip({ level: constants.Z_BEST_SPEED });
  try {
    await pipeline(slabsOf(pieces), compression, response);
  } catch (error) {
    // The client went away, and there is nobody to tell.
    if (!response.destroyed) throw error;
  }
}

/** Pieces put together to what is worth a turn of the compressor. */
function* slabsOf(pieces: Pieces): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    gathered.push(piece);
    size += piece.length;
    if (size < slabBytes) continue;
    yield gathered.length === 1 ? piece : Buffer.concat(gathered, size);
    gathered = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(gathered, size);
}

function sendText(
  answer: ServerResponse,
  text: string,
  request: IncomingMessage,
  response: NodeResponse,
): void {
  const length = Buffer.byteLength(text);
  if (answer.status !== 304 && answer.status !== 204) answer.headers["content-length"] = String(length);
  response.writeHead(answer.status, answer.headers);
  if (request.method === "HEAD") response.end();
  // The same bytes either way, and written faster when there is nothing to look for.
  else response.end(text, length === text.length ? "latin1" : "utf8");
}

function piecesOf(body: ServerResponse["body"]): Pieces {
  if (typeof body === "string") return [Buffer.from(body)];
  return isPieces(body) ? body : [body as Uint8Array];
}

/** Slabs that nobody writes from; a few are kept, since making them again costs more than filling them. */
const slabs: Buffer[] = [];
const maxSlabs = 8;

async function sendPieces(pieces: Pieces, response: NodeResponse): Promise<void> {
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  response.once("close", leave);
  let slab = slabs.pop() ?? Buffer.allocUnsafeSlow(slabBytes);
  let filled = 0;
  let previous: Promise<void> | undefined;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const room = Math.min(slabBytes - filled, piece.length - at);
      slab.set(room === piece.length ? piece : piece.subarray(at, at + room), filled);
      filled += room;
      at += room;
      if (filled < slabBytes) continue;
      const written = writeSlab(response, slab, filled);
      // One slab is filled while the other is on its way; a client that does not read holds no more.
      if (previous) await Promise.race([previous, gone]);
      if (response.destroyed) return;
      previous = written;
      slab = slabs.pop() ?? Buffer.allocUnsafeSlow(slabBytes);
      filled = 0;
    }
  }
  void writeSlab(response, slab, filled);
  response.end();
}

function writeSlab(response: NodeResponse, slab: Buffer, length: number): Promise<void> {
  return new Promise((resolve) => {
    response.write(slab.subarray(0, length), () => {
      if (slabs.length < maxSlabs) slabs.push(slab);
      resolve();
    });
  });
}

export function stream(
  answer: ServerResponse & { readonly body: BodyStream },
  response: NodeResponse,
  gone: AbortSignal,
): void {
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  answer.body.open(new ResponseSink(response, gone));
}

/**
 * Gathers what is written in one turn of the event loop into one chunk. Watchers that are told the same share
 * its bytes.
 */
class ResponseSink implements Sink {
  readonly #response: NodeResponse;
  readonly #gone: AbortSignal;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;

  constructor(response: NodeResponse, gone: AbortSignal) {
    this.#response = response;
    this.#gone = gone;
  }

  write(chunk: Uint8Array): void {
    if (this.#response.destroyed || this.#response.writableEnded || chunk.length === 0) return;
    if (this.#gathered.length === 0) waiting.push(this);
    this.#gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    if (waiting.length === 1 && this.#gathered.length === 1) setImmediate(flushAll);
  }

  get pendingBytes(): number {
    return this.#gatheredBytes + this.#response.writableLength;
  }

  drained(): Promise<void> {
    this.flush();
    const { socket } = this.#response;
    if (this.#response.destroyed || !(socket?.writableNeedDrain ?? this.#response.writableNeedDrain))
      return Promise.resolve();
    return new Promise((resolve) => {
      const source = socket ?? this.#response;
      const done = () => {
        source.off("drain", done);
        this.#response.off("close", done);
        resolve();
      };
      source.once("drain", done);
      this.#response.once("close", done);
    });
  }

  end(): void {
    this.flush();
    this.#response.end();
  }

  abort(): void {
    this.#gathered = [];
    this.#response.destroy();
  }

  onClose(run: () => void): void {
    if (this.#gone.aborted || this.#response.destroyed) run();
    else this.#response.once("close", run);
  }

  flush(): void {
    if (this.#gathered.length === 0) return;
    const chunk = asChunk(this.#gathered);
    this.#gathered = [];
    this.#gatheredBytes = 0;
    const { socket, chunkedEncoding } = this.#response;
    if (this.#response.destroyed) return;
    // The response would write a chunk's length, body and end one by one.
    if (socket && chunkedEncoding) socket.write(chunk.framed);
    else this.#response.write(chunk.body());
  }
}

interface Chunk {
  readonly framed: Buffer;
  readonly body: () => Buffer;
}

let waiting: ResponseSink[] = [];
let last: { readonly parts: readonly Uint8Array[]; readonly chunk: Chunk } | undefined;

function flushAll(): void {
  const sinks = waiting;
  waiting = [];
  for (const sink of sinks) sink.flush();
  last = undefined;
}

const lineEnd = Buffer.from("\r\n");

function asChunk(parts: readonly Uint8Array[]): Chunk {
  if (last && isSame(last.parts, parts)) return last.chunk;
  const head = Buffer.from(`${lengthOf(parts).toString(16)}\r\n`, "latin1");
  const framed = Buffer.concat([head, ...parts, lineEnd]);
  const chunk = { framed, body: () => framed.subarray(head.length, framed.length - lineEnd.length) };
  last = { parts, chunk };
  return chunk;
}

function isSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}
