/** Reads an HTTP/1.1 response as its bytes arrive: the head, then the body without its framing. */
import type { HttpHeaders } from "@keelson/core";

const longestHead = 64 << 10;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const semicolon = 0x3b;
/** As bytes: a text would be turned into them for each head. */
const headEnd = Buffer.from("\r\n\r\n");

/**
 * - `head`: the status line and headers are not complete.
 * - `data`: `#left` bytes of the body come next, and then more of it in chunked framing.
 * - `data-end`: the line break behind a chunk.
 * - `size`: the size of the next chunk. `extension`: what may follow it on its line.
 * - `trailer`: headers behind the last chunk, up to an empty line.
 * - `rest`: the body lasts as long as the connection.
 * - `done`: all has been read.
 */
type State = "head" | "data" | "data-end" | "size" | "extension" | "trailer" | "rest" | "done";

/** The head of a response. What frames its body is looked for at once; the other headers are read for who asks. */
export class ResponseHead {
  readonly status: number;
  /** The connection may carry another request after this one. */
  readonly lasts: boolean;
  readonly contentLength: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly keepAlive: string | undefined;
  readonly #text: string;
  #headers: HttpHeaders | undefined;

  /** Throws for what is no head of HTTP/1.1. */
  constructor(text: string) {
    const start = /^HTTP\/1\.([01]) (\d{3})(?:[ \r]|$)/.exec(text);
    if (!start) throw new Error("its answer is no HTTP/1.1");
    this.#text = text;
    this.status = Number(start[2]);
    let connection: string | undefined;
    for (let at = text.indexOf("\r\n"); at >= 0; ) {
      const from = at + 2;
      at = text.indexOf("\r\n", from);
      const to = at < 0 ? text.length : at;
      const colon = text.indexOf(":", from);
      if (colon <= from || colon > to) throw new Error("a header of its answer has no name");
      const length = colon - from;
      if (length !== 10 && length !== 14 && length !== 17) continue;
      const name = text.slice(from, colon).toLowerCase();
      const value = text.slice(colon + 1, to).trim();
      if (name === "content-length") this.contentLength = joined(this.contentLength, value);
      else if (name === "transfer-encoding") this.transferEncoding = joined(this.transferEncoding, value);
      else if (name === "connection") connection = joined(connection, value);
      else if (name === "keep-alive") this.keepAlive = joined(this.keepAlive, value);
    }
    this.lasts = start[1] === "1" && (connection === undefined || !/\bclose\b/i.test(connection));
  }

  get headers(): HttpHeaders {
    this.#headers ??= readHeaders(this.#text);
    return this.#headers;
  }
}

/** One response to one request. `read` throws for what is no HTTP/1.1. */
export class ResponseParser {
  #state: State = "head";
  /** The beginning of a head that came in pieces. */
  #head: Buffer | undefined;
  readonly #bodiless: boolean;
  #chunked = false;
  /** Of the body or of its current chunk. */
  #left = 0;
  #digits = 0;
  #trailing = 0;
  /** Set as soon as the head is complete; interim responses are passed over. */
  head: ResponseHead | undefined;

  /** `bodiless`: the answer to a HEAD ends with its head. */
  constructor(bodiless = false) {
    this.#bodiless = bodiless;
  }

  get done(): boolean {
    return this.#state === "done";
  }

  /** The connection has ended. False when the response had not. */
  end(): boolean {
    if (this.#state === "rest") this.#state = "done";
    return this.done;
  }

  /**
   * Takes in what arrived between `start` and `end`. Moves the part of it that is body together, to `start`, and
   * returns where that ends: each chunk as an event of its own would cost more than all that is done with it.
   */
  read(bytes: Buffer, start: number, end: number): number {
    let at = start;
    let out = start;
    while (at < end) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at, end);
          break;
        case "data": {
          const length = Math.min(this.#left, end - at);
          if (out !== at) bytes.copyWithin(out, at, at + length);
          out += length;
          at += length;
          this.#left -= length;
          if (this.#left === 0) this.#state = this.#chunked ? "data-end" : "done";
          break;
        }
        case "rest":
          if (out !== at) bytes.copyWithin(out, at, end);
          out += end - at;
          at = end;
          break;
        case "done":
          throw new Error("the server sent more than one answer");
        default:
          this.#readFraming(bytes[at] as number);
          at++;
      }
    }
    return out;
  }

  /** One byte of what stands between chunks. */
  #readFraming(byte: number): void {
    switch (this.#state) {
      case "data-end":
        if (byte === lineFeed) this.#begin("size");
        else if (byte !== carriageReturn) throw new Error("a chunk is longer than it said");
        return;
      case "size": {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          this.#left = this.#left * 16 + digit;
          if (++this.#digits > 12) throw new Error("a chunk's size is too large");
        } else if (byte === lineFeed) {
          if (this.#digits === 0) throw new Error("a chunk has no size");
          this.#begin(this.#left === 0 ? "trailer" : "data");
        } else if (byte === semicolon) {
          this.#state = "extension";
        } else if (byte !== carriageReturn && byte !== 0x20) {
          throw new Error("a chunk's size is no number");
        }
        return;
      }
      case "extension":
        if (byte === lineFeed) this.#begin(this.#left === 0 ? "trailer" : "data");
        return;
      case "trailer":
        if (byte === lineFeed) {
          if (this.#trailing === 0) this.#state = "done";
          this.#trailing = 0;
        } else if (byte !== carriageReturn) {
          this.#trailing++;
        }
        return;
    }
  }

  #begin(state: "size" | "data" | "trailer"): void {
    this.#state = state;
    this.#digits = 0;
    if (state === "size") this.#left = 0;
  }

  /** Returns where the head ends, or `end` when more of it must come. */
  #readHead(bytes: Buffer, at: number, end: number): number {
    const before = this.#head?.length ?? 0;
    const part = bytes.subarray(at, end);
    const seen = this.#head ? Buffer.concat([this.#head, part]) : part;
    const blank = seen.indexOf(headEnd, Math.max(0, before - 3));
    if (blank < 0) {
      // The memory that it came in is used again.
      this.#head = this.#head ? seen : Buffer.from(seen);
      if (seen.length > longestHead) throw new Error("its answer has no end of headers");
      if (seen.length >= 5 && seen.toString("latin1", 0, 5) !== "HTTP/") {
        throw new Error("its answer is no HTTP/1.1");
      }
      return end;
    }
    const text = seen.toString("latin1", 0, blank);
    this.#head = undefined;
    const head = new ResponseHead(text);
    if (head.status >= 200) {
      this.head = head;
      this.#frame(head);
    }
    return at + blank + 4 - before;
  }

  #frame({ status, transferEncoding: encoding, contentLength: length }: ResponseHead): void {
    if (this.#bodiless || status === 204 || status === 304) {
      this.#state = "done";
    } else if (encoding !== undefined) {
      if (encoding.toLowerCase() !== "chunked") throw new Error(`its answer is encoded as ${encoding}`);
      this.#chunked = true;
      this.#begin("size");
    } else if (length !== undefined) {
      this.#left = Number(length);
      if (!Number.isSafeInteger(this.#left) || this.#left < 0)
        throw new Error("its answer has no true length");
      this.#state = this.#left === 0 ? "done" : "data";
    } else {
      this.#state = "rest";
    }
  }
}

function readHeaders(text: string): HttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const line of text.split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const same = headers[name];
    if (same === undefined) headers[name] = value;
    else headers[name] = typeof same === "string" ? [same, value] : [...same, value];
  }
  return headers;
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before},${value}`;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
