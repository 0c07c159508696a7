/** The beginning of an RDB file: its format and what the server wrote about itself. */
import { RedisError } from "./errors.ts";

export interface RdbHeader {
  readonly format: number;
  readonly redisVersion: string;
  readonly replicationId: string | undefined;
  readonly offset: string | undefined;
}

/** More than the header ever takes. */
export const headerBytes = 4_096;

const auxiliary = 0xfa;

/** Throws `Damaged` when the bytes are not the beginning of an RDB file. */
export function readHeader(bytes: Uint8Array): RdbHeader {
  const buffer = Buffer.from(bytes);
  const magic = /^REDIS(\d{4})$/.exec(buffer.toString("latin1", 0, 9));
  if (!magic) throw new RedisError("Damaged", "this is no dump of Redis: it does not begin with REDIS");
  const fields = new Map<string, string>();
  let at = 9;
  try {
    while (buffer[at] === auxiliary) {
      const name = readString(buffer, at + 1);
      const value = readString(buffer, name.end);
      fields.set(name.text, value.text);
      at = value.end;
    }
  } catch (cause) {
    throw new RedisError("Damaged", "the header of the dump cannot be read", { cause });
  }
  return {
    format: Number(magic[1]),
    redisVersion: fields.get("redis-ver") ?? "",
    replicationId: fields.get("repl-id"),
    offset: fields.get("repl-offset"),
  };
}

/** A string with its length before it, or an integer in its place. */
function readString(buffer: Buffer, at: number): { text: string; end: number } {
  const first = buffer.readUInt8(at);
  const text = (from: number, length: number) => {
    if (from + length > buffer.length) throw new RangeError("the header is cut off");
    return { text: buffer.toString("utf8", from, from + length), end: from + length };
  };
  switch (first >> 6) {
    case 0:
      return text(at + 1, first & 0x3f);
    case 1:
      return text(at + 2, ((first & 0x3f) << 8) | buffer.readUInt8(at + 1));
    case 2:
      return text(at + 5, buffer.readUInt32BE(at + 1));
    default:
      switch (first & 0x3f) {
        case 0:
          return { text: String(buffer.readInt8(at + 1)), end: at + 2 };
        case 1:
          return { text: String(buffer.readInt16LE(at + 1)), end: at + 3 };
        case 2:
          return { text: String(buffer.readInt32LE(at + 1)), end: at + 5 };
        default:
          throw new RangeError("an encoding that headers do not use");
      }
  }
}
