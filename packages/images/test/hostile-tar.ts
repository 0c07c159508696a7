/** Tar archives as no tool would write them. */

export interface HostileEntry {
  readonly path?: string;
  /** The type flag. Default: a file. */
  readonly flag?: string;
  readonly content?: string | Buffer;
  readonly link?: string;
  /** Text of the size field. Default: the content's true size. */
  readonly size?: string | Buffer;
  readonly mode?: string;
  readonly sum?: string;
}

const block = 512;

export function hostileTar(entries: readonly HostileEntry[], end = true): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? "");
    const padding = Buffer.alloc((block - (content.length % block)) % block);
    return [header(entry, content.length), content, padding];
  });
  return Buffer.concat([...parts, ...(end ? [Buffer.alloc(2 * block)] : [])]);
}

/** An extended header of these records, as they are. */
export function pax(records: Readonly<Record<string, string>> | string): HostileEntry {
  const text =
    typeof records === "string"
      ? records
      : Object.entries(records)
          .map(([key, value]) => record(`${key}=${value}\n`))
          .join("");
  return { path: "pax", flag: "x", content: text };
}

function record(body: string): string {
  let length = Buffer.byteLength(body) + 1;
  while (String(length).length + 1 + Buffer.byteLength(body) !== length) length++;
  return `${length} ${body}`;
}

function header(entry: HostileEntry, length: number): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.write(entry.path ?? "file", 0, 100);
  bytes.write(entry.mode ?? "0000644", 100);
  bytes.write("0000000", 108);
  bytes.write("0000000", 116);
  const size = entry.size ?? length.toString(8).padStart(11, "0");
  if (typeof size === "string") bytes.write(size, 124, 12);
  else size.copy(bytes, 124, 0, 12);
  bytes.write("00000000000", 136);
  bytes.write(entry.flag ?? "0", 156);
  bytes.write(entry.link ?? "", 157, 100);
  bytes.write("ustar\0" + "00", 257);
  bytes.write(" ".repeat(8), 148);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(entry.sum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}
