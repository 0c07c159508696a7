/** Takes the items out of a list's bytes one by one, so that no page is ever parsed in one piece. */
import { parseJson } from "@keelson/core";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

export interface ListPage {
  /** What surrounds the items: the list's own metadata. */
  readonly envelope: {
    metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  };
  /** The bytes of each item, in order. */
  readonly items: Iterable<Buffer>;
}

/** Reads a list's frame. Throws `SyntaxError` when the bytes are no JSON object. */
export function readListPage(bytes: Buffer): ListPage {
  const array = findItems(bytes);
  if (array === undefined)
    return { envelope: parseJson(bytes.toString("utf8")) as ListPage["envelope"], items: [] };
  const frame = `${bytes.toString("utf8", 0, array.start)}[]${bytes.toString("utf8", array.end)}`;
  return {
    envelope: parseJson(frame) as ListPage["envelope"],
    items: split(bytes, array.start + 1, array.end - 1),
  };
}

/** Where the array under the top-level key `items` begins and ends. */
function findItems(bytes: Buffer): { start: number; end: number } | undefined {
  let depth = 0;
  let key = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) {
      const end = endOfString(bytes, i);
      if (depth === 1) key = end - i === 6 && bytes.toString("latin1", i + 1, end) === "items";
      i = end;
    } else if (byte === openBracket && depth === 1 && key) {
      return { start: i, end: endOfValue(bytes, i) };
    } else if (byte === openBrace || byte === openBracket) {
      depth++;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth--;
    } else if (byte === comma) {
      key = false;
    }
  }
  return undefined;
}

function* split(bytes: Buffer, start: number, end: number): Generator<Buffer> {
  for (let i = start; i < end; i++) {
    if (bytes[i] !== openBrace) continue;
    const stop = endOfValue(bytes, i);
    yield bytes.subarray(i, stop);
    i = stop;
  }
}

/** Just behind the object or array that begins at `start`. */
function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) i = endOfString(bytes, i);
    else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return i + 1;
  }
  throw new SyntaxError("the list ends in the middle of a value");
}

/** The closing quote of the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  for (let i = start + 1; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) return i;
    if (byte === backslash) i++;
  }
  throw new SyntaxError("the list ends in the middle of a string");
}
