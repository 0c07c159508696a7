/** Reads tar archives as a stream: ustar with the GNU and POSIX extensions that image layers use. */
import { ImageError } from "./errors.ts";

export type TarType = "file" | "hardlink" | "symlink" | "character" | "block" | "directory" | "fifo";

export interface TarEntry {
  /** Relative, without a leading `./` or `/`. */
  readonly path: string;
  readonly type: TarType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since the epoch. */
  readonly mtime: number;
  /** Target of a hard or symbolic link. */
  readonly linkPath: string;
  /** The content; it must be read, or skipped by asking for the next entry. */
  readonly body: AsyncIterable<Buffer>;
}

const block = 512;
const types: Readonly<Record<string, TarType>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "3": "character",
  "4": "block",
  "5": "directory",
  "6": "fifo",
};

export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const input = new Input(source);
  let global: Record<string, string> = {};
  let local: Record<string, string> = {};
  for (;;) {
    const header = await input.exactly(block);
    if (header === undefined || header.every((byte) => byte === 0)) return;
    checkSum(header);
    const flag = String.fromCharCode(header[156] ?? 0);
    const size = number(header, 124, 12);
    if (flag === "x" || flag === "g" || flag === "L" || flag === "K") {
      const content = await input.content(size);
      if (flag === "x") local = { ...local, ...parsePax(content) };
      else if (flag === "g") global = { ...global, ...parsePax(content) };
      else local[flag === "L" ? "path" : "linkpath"] = text(content, 0, content.length);
      continue;
    }
    const extended = { ...global, ...local };
    local = {};
    const type = types[flag];
    const prefix = text(header, 257, 5) === "ustar" ? text(header, 345, 155) : "";
    const plain = text(header, 0, 100);
    const path = extended.path ?? (prefix === "" ? plain : `${prefix}/${plain}`);
    const length = extended.size === undefined ? size : Number(extended.size);
    const body = input.body(length);
    if (type !== undefined) {
      yield {
        path: path.replace(/^(?:\.?\/)+/, "").replace(/\/+$/, ""),
        type,
        mode: number(header, 100, 8) & 0o7777,
        uid: Number(extended.uid ?? number(header, 108, 8)),
        gid: Number(extended.gid ?? number(header, 116, 8)),
        size: length,
        mtime: Number(extended.mtime ?? number(header, 136, 12)),
        linkPath: extended.linkpath ?? text(header, 157, 100),
        body: body.chunks,
      };
    }
    await body.skip();
  }
}

/** Bytes in the amounts that are asked for. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the archive; throws when it ends in the middle. */
  async exactly(length: number): Promise<Buffer | undefined> {
    while (this.#rest.length < length) {
      const { value, done } = await this.#chunks.next();
      if (done) {
        if (this.#rest.length === 0) return undefined;
        throw new ImageError(
          "BadArchive",
          "the archive ends in the middle of an entry: it is damaged or incomplete",
        );
      }
      this.#rest = this.#rest.length === 0 ? Buffer.from(value) : Buffer.concat([this.#rest, value]);
    }
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  async content(size: number): Promise<Buffer> {
    const padded = Math.ceil(size / block) * block;
    const bytes = padded === 0 ? Buffer.alloc(0) : await this.exactly(padded);
    if (bytes === undefined) throw new ImageError("BadArchive", "the archive ends in the middle of an entry");
    return bytes.subarray(0, size);
  }

  body(size: number): { chunks: AsyncIterable<Buffer>; skip: () => Promise<void> } {
    let left = size;
    const padding = (block - (size % block)) % block;
    const next = async (): Promise<Buffer | undefined> => {
      if (left === 0) return undefined;
      if (this.#rest.length === 0) {
        const one = await this.exactly(1);
        if (one === undefined) throw new ImageError("BadArchive", "the archive ends in the middle of a file");
        this.#rest = this.#rest.length === 0 ? one : Buffer.concat([one, this.#rest]);
      }
      const chunk = this.#rest.subarray(0, Math.min(left, this.#rest.length));
      this.#rest = this.#rest.subarray(chunk.length);
      left -= chunk.length;
      return chunk;
    };
    const chunks: AsyncIterable<Buffer> = {
      async *[Symbol.asyncIterator]() {
        for (let chunk = await next(); chunk !== undefined; chunk = await next()) yield chunk;
      },
    };
    return {
      chunks,
      skip: async () => {
        while ((await next()) !== undefined);
        if (padding > 0) await this.exactly(padding);
      },
    };
  }
}

function text(buffer: Buffer, start: number, length: number): string {
  const field = buffer.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}

/** Octal, or base 256 when the first bit is set. */
function number(buffer: Buffer, start: number, length: number): number {
  if ((buffer[start] ?? 0) & 0x80) {
    let value = (buffer[start] ?? 0) & 0x7f;
    for (let i = start + 1; i < start + length; i++) value = value * 256 + (buffer[i] ?? 0);
    return value;
  }
  return Number.parseInt(text(buffer, start, length).trim() || "0", 8);
}

function checkSum(header: Buffer): void {
  const said = number(header, 148, 8);
  let sum = 0;
  for (let i = 0; i < block; i++) sum += i >= 148 && i < 156 ? 0x20 : (header[i] ?? 0);
  if (sum !== said) throw new ImageError("BadArchive", "this is no tar archive, or it is damaged");
}

/** `LENGTH KEY=VALUE\n`, the length counting all of it. */
function parsePax(content: Buffer): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, space));
    if (space < 0 || !Number.isInteger(length) || length <= 0) break;
    const pair = content.toString("utf8", space + 1, at + length - 1);
    const equals = pair.indexOf("=");
    fields[pair.slice(0, equals)] = pair.slice(equals + 1);
    at += length;
  }
  return fields;
}
