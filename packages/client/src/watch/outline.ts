/** Finds out which object some JSON is, without parsing it: a scan that stops at the end of its metadata. */

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const metadataKey = Buffer.from("metadata");
const nameKey = Buffer.from("name");
const namespaceKey = Buffer.from("namespace");
const uidKey = Buffer.from("uid");
const versionKey = Buffer.from("resourceVersion");
const managedKey = Buffer.from("managedFields");

/** Where in the bytes the parts of an object's identity are; starts are behind the opening quote. */
export interface Outline {
  nameStart: number;
  nameEnd: number;
  /** Both 0 for an object in no namespace. */
  namespaceStart: number;
  namespaceEnd: number;
  uidStart: number;
  uidEnd: number;
  versionStart: number;
  versionEnd: number;
  /** The managed fields with the comma that goes with them; both 0 when there are none. */
  managedStart: number;
  managedEnd: number;
  /** Just behind the metadata. */
  metadataEnd: number;
}

/**
 * The outline of the object whose JSON begins at `start`. Undefined unless it looks exactly as API servers write it: no
 * white space, no escapes in names, and a name and a version in its metadata. Then it must be parsed to know.
 */
export function outline(bytes: Uint8Array, start: number, end: number): Outline | undefined {
  if (bytes[start] !== openBrace) return undefined;
  for (let at = start + 1; at < end; ) {
    const keyEnd = bytes[at] === quote ? endOfString(bytes, at + 1, end) : -1;
    if (keyEnd < 0 || bytes[keyEnd + 1] !== colon) return undefined;
    if (isWord(bytes, at + 1, keyEnd, metadataKey)) return metadata(bytes, keyEnd + 2, end);
    at = endOfValue(bytes, keyEnd + 2, end);
    if (at < 0 || bytes[at] !== comma) return undefined;
    at++;
  }
  return undefined;
}

function metadata(bytes: Uint8Array, start: number, end: number): Outline | undefined {
  if (bytes[start] !== openBrace) return undefined;
  const found: Outline = {
    nameStart: 0,
    nameEnd: 0,
    namespaceStart: 0,
    namespaceEnd: 0,
    uidStart: 0,
    uidEnd: 0,
    versionStart: 0,
    versionEnd: 0,
    managedStart: 0,
    managedEnd: 0,
    metadataEnd: 0,
  };
  for (let at = start + 1; at < end; ) {
    const keyEnd = bytes[at] === quote ? endOfString(bytes, at + 1, end) : -1;
    if (keyEnd < 0 || bytes[keyEnd + 1] !== colon) return undefined;
    const value = keyEnd + 2;
    const valueEnd = endOfValue(bytes, value, end);
    if (valueEnd < 0) return undefined;
    switch (keyEnd - at - 1) {
      case 3:
        if (!isWord(bytes, at + 1, keyEnd, uidKey)) break;
        if (!isPlain(bytes, value, valueEnd)) return undefined;
        found.uidStart = value + 1;
        found.uidEnd = valueEnd - 1;
        break;
      case 4:
        if (!isWord(bytes, at + 1, keyEnd, nameKey)) break;
        if (!isPlain(bytes, value, valueEnd)) return undefined;
        found.nameStart = value + 1;
        found.nameEnd = valueEnd - 1;
        break;
      case 9:
        if (!isWord(bytes, at + 1, keyEnd, namespaceKey)) break;
        if (!isPlain(bytes, value, valueEnd)) return undefined;
        found.namespaceStart = value + 1;
        found.namespaceEnd = valueEnd - 1;
        break;
      case 13:
        if (!isWord(bytes, at + 1, keyEnd, managedKey)) break;
        found.managedStart = at;
        found.managedEnd = valueEnd;
        break;
      case 15:
        if (!isWord(bytes, at + 1, keyEnd, versionKey)) break;
        if (!isPlain(bytes, value, valueEnd)) return undefined;
        found.versionStart = value + 1;
        found.versionEnd = valueEnd - 1;
        break;
    }
    if (bytes[valueEnd] === closeBrace) {
      found.metadataEnd = valueEnd + 1;
      if (found.nameEnd === 0 || found.versionEnd === 0) return undefined;
      if (found.managedEnd !== 0) takeComma(bytes, found);
      return found;
    }
    if (bytes[valueEnd] !== comma) return undefined;
    at = valueEnd + 1;
  }
  return undefined;
}

/** What is left when the managed fields are cut must still be JSON. */
function takeComma(bytes: Uint8Array, found: Outline): void {
  if (bytes[found.managedEnd] === comma) found.managedEnd++;
  else if (bytes[found.managedStart - 1] === comma) found.managedStart--;
}

/** Whether a value is a string of ASCII without escapes: its bytes are its text. */
function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[start] !== quote) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number;
    if (byte === backslash || byte >= 0x80) return false;
  }
  return true;
}

function isWord(bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word[at]) return false;
  return true;
}

/** Just behind the value that begins at `start`; negative when it does not end. */
function endOfValue(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start];
  if (first === quote) {
    const close = endOfString(bytes, start + 1, end);
    return close < 0 ? -1 : close + 1;
  }
  if (first !== openBrace && first !== openBracket) {
    for (let at = start; at < end; at++) {
      const byte = bytes[at];
      if (byte === comma || byte === closeBrace || byte === closeBracket) return at;
    }
    return -1;
  }
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at + 1, end);
      if (at < 0) return -1;
    } else if (byte === openBrace || byte === openBracket) {
      depth++;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (--depth === 0) return at + 1;
    }
  }
  return -1;
}

/** The closing quote of the string whose text begins at `start`; negative when it never comes. */
function endOfString(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === quote) return at;
    if (byte === backslash) at++;
  }
  return -1;
}
