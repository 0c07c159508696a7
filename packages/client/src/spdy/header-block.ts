/** Header blocks of SPDY/3.1: names and values, compressed in one context for the life of a connection. */
import { constants, createInflate, type Inflate } from "node:zlib";
import { headerDictionary } from "./dictionary.ts";

/** Lower-case names. A name with several values has them in order, joined by NUL on the wire. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** A block larger than this is an attack or a mistake. */
const largestBlock = 64 << 10;

/** An empty stored block, as a sync flush leaves it: Go's inflater hands out what it has only when it sees one. */
const syncMark = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff]);

/**
 * Writes header blocks as stored (uncompressed) zlib data, which every inflater accepts: it needs no state, no
 * thread and no waiting, and headers are a few dozen bytes.
 */
export class HeaderWriter {
  #begun = false;

  write(headers: SpdyHeaders): Buffer {
    const entries = Object.entries(headers);
    const parts: Buffer[] = [uint32(entries.length)];
    for (const [name, value] of entries) {
      const nameBytes = Buffer.from(name.toLowerCase(), "latin1");
      const valueBytes = Buffer.from(value, "utf8");
      parts.push(uint32(nameBytes.length), nameBytes, uint32(valueBytes.length), valueBytes);
    }
    const block = Buffer.concat(parts);
    if (block.length > 0xffff) throw new RangeError("the headers are too large");
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(block.length, 1);
    stored.writeUInt16LE(~block.length & 0xffff, 3);
    const start = this.#begun ? Buffer.alloc(0) : Buffer.from([0x78, 0x01]);
    this.#begun = true;
    return Buffer.concat([start, stored, block, syncMark]);
  }
}

/** Reads header blocks. Calls must follow each other in the order of the frames. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({
    dictionary: headerDictionary(),
    finishFlush: constants.Z_SYNC_FLUSH,
    flush: constants.Z_SYNC_FLUSH,
    readableHighWaterMark: 2 * largestBlock,
  } as Parameters<typeof createInflate>[0]);

  async read(block: Buffer): Promise<SpdyHeaders> {
    if (block.length > largestBlock) throw new RangeError("the headers are too large");
    await new Promise<void>((resolve, reject) => {
      this.#inflate.once("error", reject);
      this.#inflate.write(block, () => {
        this.#inflate.off("error", reject);
        resolve();
      });
    });
    return parse((this.#inflate.read() as Buffer | null) ?? Buffer.alloc(0));
  }

  close(): void {
    this.#inflate.close();
  }
}

function parse(bytes: Buffer): SpdyHeaders {
  const headers: Record<string, string> = {};
  let at = 0;
  const number = () => {
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = () => {
    const length = number();
    if (at + length > bytes.length) throw new RangeError("the headers end too early");
    at += length;
    return bytes.toString("utf8", at - length, at);
  };
  for (let left = number(); left > 0; left--) {
    const name = text();
    headers[name.toLowerCase()] = text();
  }
  return headers;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
