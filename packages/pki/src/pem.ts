/** PEM: the armor around DER. */

/** DER as a PEM block with this label, such as `CERTIFICATE`. */
export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

const begin = "-----BEGIN ";
const end = "-----END ";
const dashes = "-----";

/** One block of a PEM text: its label and its bytes. */
export interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string;
  /** What stands between the two lines, headers included. */
  readonly content: string;
  /** The block with both its lines. */
  readonly text: string;
}

/** The blocks of a text, in order. What is around them, and what begins and never ends, is passed over. */
export function* pemBlocks(text: string): Generator<PemBlock> {
  for (let at = text.indexOf(begin); at >= 0; at = text.indexOf(begin, at)) {
    const labelEnd = text.indexOf(dashes, at + begin.length);
    if (labelEnd < 0) return;
    const label = text.slice(at + begin.length, labelEnd);
    const contentStart = labelEnd + dashes.length;
    // The next end is the block's own, or the block is none.
    const contentEnd = text.indexOf(end, contentStart);
    if (contentEnd < 0) return;
    const close = `${end}${label}${dashes}`;
    if (!label.includes("\n") && text.startsWith(close, contentEnd)) {
      const stop = contentEnd + close.length;
      yield { label, content: text.slice(contentStart, contentEnd), text: text.slice(at, stop) };
      at = stop;
    } else at = nextBegin(text, contentStart, contentEnd);
  }
}

/** The last beginning before an end is the one that it may belong to; all others never ended. */
function nextBegin(text: string, from: number, before: number): number {
  const last = text.lastIndexOf(begin, before);
  return last >= from ? last : before + end.length;
}

/** The content of the first block. Text before it is ignored. */
export function pemBytes(text: string): Uint8Array {
  const { content = text } = pemBlocks(text).next().value ?? {};
  return Buffer.from(content.replace(/\s+/g, ""), "base64");
}
