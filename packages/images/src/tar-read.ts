/**
 * Reads tar archives as a stream: ustar with the GNU and POSIX extensions that image layers use.
 *
 * Archives come from strangers. Whatever is not exactly as the formats say is refused by the entry's name; memory is
 * bounded by the limits below, and time by the length of the archive.
 */
import { ImageError } from "./errors.ts";

export type TarType = "file" | "hardlink" | "symlink" | "character" | "block" | "directory" | "fifo";

export interface TarEntry {
  /** Relative and normalized: no `.` and no `..` in it. Empty for the root itself. */
  readonly path: string;
  readonly type: TarType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since the epoch. */
  readonly mtime: number;
  /** Target of a hard or symbolic link, as it is written. */
  readonly linkPath: string;
  /** The content; it must be read, or skipped by asking for the next entry. */
  readonly body: AsyncIterable<Buffer>;
}

const block = 512;
const longestPath = 4096;
const longestName = 255;
/** Of extended headers that belong to one entry, or to all that follow. */
const mostHeaderBytes = 1024 * 1024;
const mostEntries = 2_000_000;
const largestId = 2 ** 32 - 2;

const types: ReadonlyMap<string, TarType> = new Map([
  ["0", "file"],
  ["\0", "file"],
  ["7", "file"],
  ["1", "hardlink"],
  ["2", "symlink"],
  ["3", "character"],
  ["4", "block"],
  ["5", "directory"],
  ["6", "fifo"],
]);

/** Reads to the end of the source, also behind the end of the archive. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const input = new Input(source);
  let extended: ReadonlyMap<string, string> = new Map();
  let headerBytes = 0;
  let entries = 0;
  for (;;) {
    const header = await input.block();
    if (header === undefined || header.every((byte) => byte === 0)) break;
    checkSum(header);
    const flag = String.fromCharCode(header[156] ?? 0);
    const length = octal(header, 124, 12, "size");
    if (flag === "x" || flag === "g" || flag === "L" || flag === "K") {
      headerBytes += length;
      if (headerBytes > mostHeaderBytes) throw bad("an entry has more than a megabyte of headers");
      const content = await input.content(length);
      if (flag === "x") extended = new Map([...extended, ...parsePax(content)]);
      // What would hold for all entries is nothing that layers use, and no entry could be trusted with it.
      else if (flag !== "g")
        extended = new Map(extended).set(flag === "L" ? "path" : "linkpath", untilNul(content));
      continue;
    }
    if (++entries > mostEntries) throw bad(`the archive has more than ${mostEntries} entries`);
    const written = extended.get("path") ?? plainPath(header);
    const name = JSON.stringify(written.slice(0, longestName));
    const type = types.get(flag);
    if (type === undefined) throw bad(`entry ${name} is of an unknown type ${JSON.stringify(flag)}`);
    const number = (key: string, plain: () => number, most = Number.MAX_SAFE_INTEGER) => {
      const text = extended.get(key);
      const value = text === undefined ? plain() : decimal(text);
      if (value === undefined || value > most) throw bad(`entry ${name} has an invalid ${key}`);
      return value;
    };
    // Only files have a body, whatever is said of the others.
    const size = number("size", () => length);
    const body = input.body(type === "file" ? size : 0);
    const linkPath = extended.get("linkpath") ?? untilNul(header.subarray(157, 257));
    if (linkPath.length > longestPath || linkPath.includes("\0"))
      throw bad(`entry ${name} has an invalid link`);
    yield {
      path: normalized(written),
      type,
      mode: octal(header, 100, 8, "mode") & 0o7777,
      uid: number("uid", () => octal(header, 108, 8, "uid"), largestId),
      gid: number("gid", () => octal(header, 116, 8, "gid"), largestId),
      size: type === "file" ? size : 0,
      mtime: time(extended.get("mtime")) ?? octal(header, 136, 12, "time"),
      linkPath,
      body: body.chunks,
    };
    await body.skip();
    extended = new Map();
    headerBytes = 0;
  }
  await input.drain();
}

/** Refuses what would leave the root that it is unpacked into, or that no file system could hold. */
function normalized(path: string): string {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const shown = JSON.stringify(path.slice(0, longestName));
  if (names.includes("..")) throw bad(`entry ${shown} leaves the archive's root`);
  if (path.includes("\0")) throw bad(`entry ${shown} has a NUL character in its name`);
  const isTooLong = path.length > longestPath || names.some((name) => Buffer.byteLength(name) > longestName);
  if (isTooLong) throw bad(`the name of entry ${shown} is too long`);
  return names.join("/");
}

/** Bytes in the amounts that are asked for. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the archive. */
  async block(): Promise<Buffer | undefined> {
    if (!(await this.#more())) return undefined;
    return await this.#exactly(block);
  }

  async content(size: number): Promise<Buffer> {
    const bytes = await this.#exactly(Math.ceil(size / block) * block);
    return bytes.subarray(0, size);
  }

  body(size: number): { chunks: AsyncIterable<Buffer>; skip: () => Promise<void> } {
    let left = size;
    const padding = (block - (size % block)) % block;
    const next = async (): Promise<Buffer | undefined> => {
      if (left === 0) return undefined;
      const chunk = await this.#some(left);
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
        await this.#exactly(padding);
      },
    };
  }

  async drain(): Promise<void> {
    while (await this.#more()) this.#chunk = Buffer.alloc(0);
  }

  async #exactly(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = length; left > 0; ) {
      const part = await this.#some(left);
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  /** At least one byte and at most `most`. */
  async #some(most: number): Promise<Buffer> {
    if (!(await this.#more())) {
      throw bad("the archive ends in the middle of an entry: it is damaged or incomplete");
    }
    const taken = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  /** Whether there is a byte to read. */
  async #more(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return false;
      this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    return true;
  }
}

function plainPath(header: Buffer): string {
  const plain = untilNul(header.subarray(0, 100));
  const prefix = untilNul(header.subarray(257, 262)) === "ustar" ? untilNul(header.subarray(345, 500)) : "";
  return prefix === "" ? plain : `${prefix}/${plain}`;
}

function untilNul(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}

/** Octal digits, or base 256 when the first bit is set. */
function octal(header: Buffer, start: number, length: number, what: string): number {
  const first = header[start] ?? 0;
  if (first & 0x80) {
    // A second bit is the sign; nothing here may be below zero.
    let value = first & 0x40 ? Number.NaN : first & 0x3f;
    for (let i = start + 1; i < start + length; i++) value = value * 256 + (header[i] ?? 0);
    if (!Number.isSafeInteger(value)) throw bad(`an entry has an invalid ${what}`);
    return value;
  }
  const text = untilNul(header.subarray(start, start + length)).trim();
  if (!/^[0-7]*$/.test(text)) throw bad(`an entry has an invalid ${what}`);
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function decimal(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function time(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^-?\d{1,15}(?:\.\d{0,20})?$/.test(text)) throw bad(`an entry has an invalid mtime`);
  return Number(text);
}

function checkSum(header: Buffer): void {
  const said = /^[\s0-7]*$/.test(untilNul(header.subarray(148, 156)))
    ? octal(header, 148, 8, "checksum")
    : -1;
  let sum = 0;
  for (let i = 0; i < block; i++) sum += i >= 148 && i < 156 ? 0x20 : (header[i] ?? 0);
  if (sum !== said) throw bad("this is no tar archive, or it is damaged");
}

/** `LENGTH KEY=VALUE\n`, the length counting all of it. */
function parsePax(content: Buffer): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = space < 0 || space - at > 16 ? undefined : decimal(content.toString("latin1", at, space));
    const end = length === undefined ? 0 : at + length;
    const equals = content.indexOf(0x3d, space);
    const isWhole = end > space + 1 && end <= content.length && content[end - 1] === 0x0a && equals < end;
    if (!isWhole || equals < 0) throw bad("an entry has a malformed extended header");
    // Without a value it stands for what the plain header says.
    const value = content.toString("utf8", equals + 1, end - 1);
    if (value !== "") fields.set(content.toString("utf8", space + 1, equals), value);
    at = end;
  }
  return fields;
}

function bad(message: string): ImageError {
  return new ImageError("BadArchive", message);
}
