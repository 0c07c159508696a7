/** A consistent copy of a server's data, received as a replica receives it. */
import type { Socket } from "node:net";
import type { RedisConnection } from "./connection.ts";
import { RedisError } from "./errors.ts";

const markLength = 40;
/** A server that sends nothing for this long has stopped. While it forks it sends line breaks. */
const idleMs = 60_000;

/** The bytes of an RDB file. Throws when the server ends before all of it was sent. Nothing else may use the connection. */
export async function* dump(connection: RedisConnection): AsyncIterable<Uint8Array> {
  await connection.call(["REPLCONF", "capa", "eof"]);
  await connection.call(["REPLCONF", "rdb-only", "1"]);
  const socket = connection.release();
  try {
    socket.write("*1\r\n$4\r\nSYNC\r\n");
    yield* payload(chunks(socket));
  } finally {
    socket.destroy();
  }
}

async function* chunks(socket: Socket): AsyncIterable<Buffer> {
  socket.setTimeout(idleMs, () =>
    socket.destroy(new RedisError("Unreachable", `the server sent nothing for ${idleMs / 1_000} s`)),
  );
  for await (const chunk of socket) yield chunk as Buffer;
}

/**
 * `$LENGTH` says how much comes; `$EOF:MARK` says what stands at its end. The mark is no part of the dump.
 */
export async function* payload(source: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  let head: Buffer = Buffer.alloc(0);
  let remaining: number | undefined;
  let mark: Buffer | undefined;
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    let data = chunk;
    if (remaining === undefined && !mark) {
      head = Buffer.concat([head, chunk]);
      let start = 0;
      while (head[start] === 0x0a) start++;
      const end = head.indexOf("\r\n", start);
      if (end < 0) continue;
      const line = head.toString("latin1", start, end);
      if (line.startsWith("$EOF:")) mark = Buffer.from(line.slice(5), "latin1");
      else if (/^\$\d+$/.test(line)) remaining = Number(line.slice(1));
      else throw new RedisError("Answered", `the server refuses to send its data: ${line.replace(/^-/, "")}`);
      data = head.subarray(end + 2);
    }
    if (remaining !== undefined) {
      const part = data.subarray(0, remaining);
      remaining -= part.length;
      if (part.length > 0) yield part;
      if (remaining === 0) return;
      continue;
    }
    const all: Buffer = Buffer.concat([tail, data]);
    if (mark && all.length >= markLength && all.subarray(-markLength).equals(mark)) {
      if (all.length > markLength) yield all.subarray(0, -markLength);
      return;
    }
    const safe = Math.max(0, all.length - markLength);
    if (safe > 0) yield all.subarray(0, safe);
    tail = Buffer.from(all.subarray(safe));
  }
  throw new RedisError("Unreachable", "the server ended before it had sent all of its data");
}
