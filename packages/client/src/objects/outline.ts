/** Finds out which object some JSON is, without parsing it: a scan that stops at the end of its metadata. */

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Parts of the metadata that are looked for; each has a length of its own, by which it is recognised. */
const words = ["uid", "name", "namespace", "managedFields", "resourceVersion"] as const;
const wordOfLength: (Buffer | undefined)[] = Array.from({ length: 16 }, () => undefined);
const slotOfLength = new Uint8Array(16);
words.forEach((word, index) => {
  wordOfLength[word.length] = Buffer.from(word);
  slotOfLength[word.length] = 2 * index;
});
const metadataWord = Buffer.from("metadata");

/**
 * Where in the bytes the parts of an object's identity are: at each of these places the part begins, at the next it
 * ends. A part that is not there begins and ends at 0. The managed fields include the comma that goes with them.
 */
export type Outline = Int32Array;
export const uidAt = 0;
export const nameAt = 2;
export const namespaceAt = 4;
export const managedAt = 6;
export const versionAt = 8;
/** Just behind the metadata. */
export const metadataEndAt = 10;

export function emptyOutline(): Outline {
  return new Int32Array(11);
}

/**
 * Fills in the outline of the object whose JSON begins at `start`. False unless it looks exactly as API servers write
 * it: no white space, no escapes in names, and a name and a version in its metadata. Then it must be parsed to know.
 */
export function outline(bytes: Uint8Array, start: number, end: number, found: Outline): boolean {
  const metadataEnd = scan(bytes, start, end, found);
  found[metadataEndAt] = metadataEnd;
  return metadataEnd >= 0 && found[nameAt] !== 0 && found[versionAt] !== 0;
}

/**
 * Returns the end of the metadata; negative when it is not as expected. One small loop for all levels: it runs for every
 * object from the first on, so time spent on making it fast counts.
 */
function scan(bytes: Uint8Array, start: number, end: number, found: Outline): number {
  found.fill(0);
  if (bytes[start] !== openBrace) return -1;
  let within = false;
  for (let at = start + 1; at < end; at++) {
    const key = at + 1;
    if (bytes[at] !== quote) return -1;
    at = skipString(bytes, key, end);
    const length = at - key;
    const value = at + 2;
    if (bytes[at + 1] !== colon) return -1;
    if (!within && isWord(bytes, key, length, metadataWord)) {
      if (bytes[value] !== openBrace) return -1;
      within = true;
      at = value;
      continue;
    }
    at = skipValue(bytes, value, end);
    const word = within ? wordOfLength[length] : undefined;
    if (word !== undefined && isWord(bytes, key, length, word)) {
      const slot = slotOfLength[length] as number;
      if (slot === managedAt) {
        // What is left when they are cut must still be JSON.
        const first = bytes[key - 2] !== comma;
        found[slot] = first ? key - 1 : key - 2;
        found[slot + 1] = first && bytes[at] === comma ? at + 1 : at;
      } else {
        if (!isPlain(bytes, value, at)) return -1;
        found[slot] = value + 1;
        found[slot + 1] = at - 1;
      }
    }
    if (bytes[at] === comma) continue;
    return within && bytes[at] === closeBrace ? at + 1 : -1;
  }
  return -1;
}

/** Just behind the value that begins at `at`. */
function skipValue(bytes: Uint8Array, at: number, end: number): number {
  let depth = 0;
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      at = skipString(bytes, at + 1, end);
    } else if (byte === openBrace || byte === openBracket) {
      depth++;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return at;
      depth--;
    } else if (byte === comma && depth === 0) {
      return at;
    }
  }
  return end;
}

/** The closing quote of the string whose text begins at `at`. */
function skipString(bytes: Uint8Array, at: number, end: number): number {
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === quote) return at;
    if (byte === backslash) at++;
  }
  return end;
}

function isWord(bytes: Uint8Array, start: number, length: number, word: Uint8Array): boolean {
  if (length !== word.length) return false;
  for (let at = 0; at < length; at++) if (bytes[start + at] !== word[at]) return false;
  return true;
}

/** Whether a value is a string of ASCII without escapes: its bytes are its text. */
function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[start] !== quote || bytes[end - 1] !== quote) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number;
    if (byte === backslash || byte >= 0x80) return false;
  }
  return true;
}
