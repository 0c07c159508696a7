/** What the text of a number or string token means. */

import { lookupTable } from "@keelson/core/internal";
import { type Int, intFromBigInt, isInt64, isUint64 } from "../values/numbers.ts";
import { CelError } from "./errors.ts";

/** Undefined when the number does not fit 64 bits. */
export function parseIntText(text: string, negative: boolean): Int | undefined {
  const magnitude = BigInt(text);
  const value = negative ? -magnitude : magnitude;
  return isInt64(value) ? intFromBigInt(value) : undefined;
}

/** The text still carries its `u`. */
export function parseUintText(text: string): Int | undefined {
  const value = BigInt(text.slice(0, -1));
  return isUint64(value) ? intFromBigInt(value) : undefined;
}

const simpleEscapes: Readonly<Record<string, string>> = lookupTable({
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "`": "`",
  "?": "?",
});

/** The inside of a quoted literal, without prefix and quotes, and whether its escapes count. */
function body(text: string): { inside: string; raw: boolean } {
  const raw = text[0] === "r" || text[0] === "R";
  // Every kind of line break in a literal reads as one newline.
  const quoted = (raw ? text.slice(1) : text).replace(/\r\n?/g, "\n");
  const triple = quoted.length >= 6 && (quoted.startsWith("'''") || quoted.startsWith('"""'));
  return { inside: triple ? quoted.slice(3, -3) : quoted.slice(1, -1), raw };
}

/** @throws CelError when an escape names no code point. */
export function parseStringText(text: string): string {
  const { inside, raw } = body(text);
  if (raw || !inside.includes("\\")) return inside;
  let out = "";
  for (let i = 0; i < inside.length; ) {
    const c = inside[i] ?? "";
    if (c !== "\\") {
      out += c;
      i++;
      continue;
    }
    const sequence = readEscape(inside, i);
    out += "literal" in sequence ? sequence.literal : codePoint(sequence.code);
    i = sequence.next;
  }
  return out;
}

/** The text no longer carries its `b`. */
export function parseBytesText(text: string): Uint8Array {
  const { inside, raw } = body(text);
  const encoder = new TextEncoder();
  if (raw || !inside.includes("\\")) return encoder.encode(inside);
  const out: number[] = [];
  for (let i = 0; i < inside.length; ) {
    if (inside[i] !== "\\") {
      const character = String.fromCodePoint(inside.codePointAt(i) ?? 0);
      out.push(...encoder.encode(character));
      i += character.length;
      continue;
    }
    const sequence = readEscape(inside, i);
    if ("literal" in sequence) out.push(...encoder.encode(sequence.literal));
    else if (sequence.wide) throw new CelError("syntax", "unable to unescape string");
    else out.push(sequence.code);
    i = sequence.next;
  }
  return Uint8Array.from(out);
}

type Escape = { literal: string; next: number } | { code: number; wide: boolean; next: number };

function readEscape(text: string, at: number): Escape {
  const c = text[at + 1] ?? "";
  const simple = simpleEscapes[c];
  if (simple !== undefined) return { literal: simple, next: at + 2 };
  const digits = c === "x" || c === "X" ? 2 : c === "u" ? 4 : c === "U" ? 8 : 0;
  if (digits > 0) {
    const code = Number.parseInt(text.slice(at + 2, at + 2 + digits), 16);
    return { code, wide: digits > 2, next: at + 2 + digits };
  }
  return { code: Number.parseInt(text.slice(at + 1, at + 4), 8), wide: false, next: at + 4 };
}

function codePoint(code: number): string {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new CelError("syntax", "invalid unicode code point");
  }
  return String.fromCodePoint(code);
}
