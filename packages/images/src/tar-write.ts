/** Writes tar archives as layers want them: equal contents give equal bytes, at any time on any machine. */

export interface TarFile {
  /** Relative, without a leading slash. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly content?: Uint8Array;
  /** Of a symbolic link. */
  readonly target?: string;
}

const block = 512;
const shortName = 100;
const largestFile = 0o77777777777;

/** One archive of all entries, in the order given; times and owners are zero. */
export function writeTar(entries: Iterable<TarFile>): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? new Uint8Array());
    if (content.length > largestFile) throw new RangeError(`${entry.path} is too large for an archive`);
    const name = entry.type === "directory" ? `${entry.path}/` : entry.path;
    const records = [
      ...(fits(name) ? [] : [paxRecord("path", name)]),
      ...(fits(entry.target ?? "") ? [] : [paxRecord("linkpath", entry.target ?? "")]),
    ];
    if (records.length > 0) {
      const bytes = Buffer.from(records.join(""));
      parts.push(header("pax", "x", 0o644, bytes.length, ""), padded(bytes));
    }
    const flag = entry.type === "directory" ? "5" : entry.type === "symlink" ? "2" : "0";
    parts.push(header(name, flag, entry.mode, content.length, entry.target ?? ""), padded(content));
  }
  parts.push(Buffer.alloc(block * 2));
  return Buffer.concat(parts);
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= shortName;
}

function header(name: string, flag: string, mode: number, size: number, target: string): Buffer {
  const bytes = Buffer.alloc(block);
  Buffer.from(name).copy(bytes, 0, 0, shortName);
  bytes.write(octal(mode, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  bytes.write(octal(size, 11), 124);
  bytes.write(octal(0, 11), 136);
  bytes.write(" ".repeat(8), 148);
  bytes.write(flag, 156);
  Buffer.from(target).copy(bytes, 157, 0, shortName);
  bytes.write("ustar\0" + "00", 257);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${octal(sum, 6)}\0 `, 148);
  return bytes;
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, "0");
}

function padded(content: Buffer): Buffer {
  const rest = content.length % block;
  return rest === 0 ? content : Buffer.concat([content, Buffer.alloc(block - rest)]);
}

/** `LENGTH key=value\n`, where LENGTH counts itself. */
function paxRecord(key: string, value: string): string {
  const body = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(body);
  length += String(length + String(length).length).length;
  return `${length}${body}`;
}
