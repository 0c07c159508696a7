/** Writes ASN.1 in DER: the few forms that certificates need. */

export type Der = Uint8Array;

function tagged(tag: number, content: Uint8Array): Der {
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(size: number): Uint8Array {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export function sequence(...items: Uint8Array[]): Der {
  return tagged(0x30, Buffer.concat(items));
}

export function set(...items: Uint8Array[]): Der {
  return tagged(0x31, Buffer.concat(items));
}

/** An unsigned integer from its bytes, most significant first. */
export function integer(value: Uint8Array | number): Der {
  let bytes = typeof value === "number" ? Buffer.from([value]) : Buffer.from(value);
  while (bytes.length > 1 && bytes[0] === 0 && ((bytes[1] as number) & 0x80) === 0) bytes = bytes.subarray(1);
  if (((bytes[0] as number) & 0x80) !== 0) bytes = Buffer.concat([Buffer.from([0]), bytes]);
  return tagged(0x02, bytes);
}

export function boolean(value: boolean): Der {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

/** `1.2.840.10045.4.3.2` */
export function objectId(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

export function utf8(text: string): Der {
  return tagged(0x0c, Buffer.from(text));
}

export function octets(content: Uint8Array): Der {
  return tagged(0x04, content);
}

/** Bits whose last `unused` do not count. */
export function bits(content: Uint8Array, unused = 0): Der {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), content]));
}

/** `[n]` around content, explicit when the content is itself DER. */
export function context(tag: number, content: Uint8Array, constructed = true): Der {
  return tagged((constructed ? 0xa0 : 0x80) | tag, content);
}

/** UTCTime until 2049, GeneralizedTime from then on. */
export function time(epochMs: number): Der {
  const iso = new Date(epochMs).toISOString().replace(/[-:T]/g, "").slice(0, 14);
  return new Date(epochMs).getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(`${iso.slice(2)}Z`))
    : tagged(0x18, Buffer.from(`${iso}Z`));
}
