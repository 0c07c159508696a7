/** The protocol of Redis (RESP2): commands as bytes, and answers from bytes that arrive in pieces. */
import { answeredError, RedisError } from "./errors.ts";

export type Reply = string | number | null | RedisError | readonly Reply[];

export function encodeCommand(parts: readonly (string | number | Uint8Array)[]): Buffer {
  const chunks: Buffer[] = [Buffer.from(`*${parts.length}\r\n`)];
  for (const part of parts) {
    const bytes = typeof part === "object" ? Buffer.from(part) : Buffer.from(String(part));
    chunks.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  }
  return Buffer.concat(chunks);
}

/** Takes bytes as they come and gives whole replies in order. */
export class ReplyParser {
  #buffer: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): Reply[] {
    this.#buffer = this.#buffer.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#buffer, chunk]);
    const replies: Reply[] = [];
    let at = 0;
    for (;;) {
      const parsed = parse(this.#buffer, at);
      if (!parsed) break;
      replies.push(parsed.reply);
      at = parsed.end;
    }
    this.#buffer = this.#buffer.subarray(at);
    return replies;
  }
}

interface Parsed {
  readonly reply: Reply;
  readonly end: number;
}

/** Undefined while bytes are missing. */
function parse(buffer: Buffer, at: number): Parsed | undefined {
  const lineEnd = buffer.indexOf("\r\n", at);
  if (lineEnd < 0) return undefined;
  const line = buffer.toString("utf8", at + 1, lineEnd);
  const next = lineEnd + 2;
  switch (String.fromCharCode(buffer[at] ?? 0)) {
    case "+":
      return { reply: line, end: next };
    case "-":
      return { reply: answeredError(line), end: next };
    case ":":
      return { reply: Number(line), end: next };
    case "$":
      return parseBulk(buffer, next, Number(line));
    case "*":
      return parseArray(buffer, next, Number(line));
    default:
      throw new RedisError(
        "Protocol",
        `expected an answer of Redis, got ${JSON.stringify(line.slice(0, 40))}`,
      );
  }
}

function parseBulk(buffer: Buffer, at: number, length: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: at };
  const end = at + length;
  if (buffer.length < end + 2) return undefined;
  return { reply: buffer.toString("utf8", at, end), end: end + 2 };
}

function parseArray(buffer: Buffer, at: number, length: number): Parsed | undefined {
  if (length < 0) return { reply: null, end: at };
  const items: Reply[] = [];
  let end = at;
  for (let index = 0; index < length; index++) {
    const item = parse(buffer, end);
    if (!item) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: items, end };
}
