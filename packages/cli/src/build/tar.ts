/** Tar archives as OCI layers want them: reproducible, with long names where needed. */

export interface TarEntry {
  /** Relative, without a leading slash. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly content?: Uint8Array;
  readonly target?: string;
}

const BLOCK = 512;

/** One archive of all entries, in the order given; times are zero so that equal contents give equal bytes. */
export function tar(entries: Iterable<TarEntry>): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? new Uint8Array());
    const name = entry.type === "directory" ? `${entry.path}/` : entry.path;
    const long = {
      ...(fits(name) ? {} : { path: name }),
      ...(fits(entry.target ?? "") ? {} : { linkpath: entry.target }),
    };
    if (Object.keys(long).length > 0) {
      const records = Buffer.from(
        Object.entries(long)
          .map(([key, value]) => paxRecord(key, value ?? ""))
          .join(""),
      );
      parts.push(header("pax", "x", 0o644, records.length, ""), padded(records));
    }
    const flag = entry.type === "directory" ? "5" : entry.type === "symlink" ? "2" : "0";
    parts.push(header(name, flag, entry.mode, content.length, entry.target ?? ""), padded(content));
  }
  parts.push(Buffer.alloc(BLOCK * 2));
  return Buffer.concat(parts);
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= 100;
}

function header(name: string, flag: string, mode: number, size: number, target: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(cut(name), 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write(" ".repeat(8), 148);
  block.write(flag, 156);
  block.write(cut(target), 157, 100);
  block.write("ustar\0" + "00", 257);
  block.write(
    octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  );
  block.write("\0 ", 154);
  return block;
}

function cut(text: string): string {
  return Buffer.from(text).subarray(0, 100).toString("latin1");
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, "0");
}

function padded(content: Buffer): Buffer {
  const rest = content.length % BLOCK;
  return rest === 0 ? content : Buffer.concat([content, Buffer.alloc(BLOCK - rest)]);
}

/** `LENGTH key=value\n`, where LENGTH counts itself. */
function paxRecord(key: string, value: string): string {
  const body = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(body);
  length += String(length + String(length).length).length;
  return `${length}${body}`;
}
