/** Reads ASN.1 in DER, as far as certificate requests need it. */
import { PkiError } from "./errors.ts";

export interface DerNode {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With tag and length. */
  readonly whole: Uint8Array;
}

/** The element at the start of `bytes`, and what follows it. Throws a PkiError on anything malformed. */
export function readDer(bytes: Uint8Array): { node: DerNode; rest: Uint8Array } {
  const tag = bytes[0];
  const first = bytes[1];
  if (tag === undefined || first === undefined) throw malformed();
  let at = 2;
  let size = first;
  if (first & 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw malformed();
    size = 0;
    for (let i = 0; i < count; i++) {
      const byte = bytes[at++];
      if (byte === undefined) throw malformed();
      size = size * 256 + byte;
    }
  }
  const end = at + size;
  if (end > bytes.length) throw malformed();
  return {
    node: { tag, content: bytes.subarray(at, end), whole: bytes.subarray(0, end) },
    rest: bytes.subarray(end),
  };
}

/** The elements of a constructed value. */
export function children(node: DerNode): DerNode[] {
  const out: DerNode[] = [];
  for (let rest = node.content; rest.length > 0; ) {
    const read = readDer(rest);
    out.push(read.node);
    rest = read.rest;
  }
  return out;
}

export function objectIdText(node: DerNode): string {
  const [first = 0, ...rest] = node.content;
  const parts = [Math.floor(first / 40), first % 40];
  let value = 0;
  for (const byte of rest) {
    value = value * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) {
      parts.push(value);
      value = 0;
    }
  }
  return parts.join(".");
}

function malformed(): PkiError {
  return new PkiError("BadEncoding", "cannot read DER: an element is cut short or malformed");
}
