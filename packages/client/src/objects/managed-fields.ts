/** Cuts `metadata.managedFields` out of an object's JSON before it is parsed: it is up to half of the text. */

const key = '"managedFields":[';
const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
/** Metadata comes early; what has it later is left to the slower way. */
const farthest = 16 << 10;

/**
 * The text without the managed fields of the object whose metadata begins with `opening`, which is
 * `"object":{` for a watch event and empty for an object itself. Undefined when they are not found where the API
 * server writes them: nothing is said then about whether they are there.
 */
export function cutManagedFields(text: string, opening: '"object":' | ""): string | undefined {
  const at = text.indexOf(key);
  if (at < 0 || at > farthest || !isMetadata(text, at, opening)) return undefined;
  const end = endOfValue(text, at + key.length - 1);
  if (end < 0) return undefined;
  if (text.charCodeAt(at - 1) === comma) return text.slice(0, at - 1) + text.slice(end);
  return text.slice(0, at) + text.slice(text.charCodeAt(end) === comma ? end + 1 : end);
}

/**
 * The field set that `manager` owns by server-side apply of the object itself, as the JSON in which it stands in `text`,
 * the JSON of managed fields. It is cut out and not parsed: its keys are full of escapes, and few are ever looked at.
 */
export function appliedFieldsIn(text: string, manager: string): string | undefined {
  const wanted = JSON.stringify(manager);
  let at = text.indexOf(key) + key.length;
  while (text.charCodeAt(at) === openBrace) {
    const entry = new Map<string, string>();
    for (at++; text.charCodeAt(at) === quote; ) {
      const name = text.slice(at + 1, endOfString(text, at));
      const start = at + name.length + 3;
      at = endOfAny(text, start);
      if (at < 0) return undefined;
      entry.set(name, text.slice(start, at));
      if (text.charCodeAt(at) === comma) at++;
    }
    const isWanted = entry.get("manager") === wanted && entry.get("operation") === '"Apply"';
    if (isWanted && !entry.has("subresource")) return entry.get("fieldsV1");
    at += text.charCodeAt(at + 1) === comma ? 2 : 1;
  }
  return undefined;
}

/** Just behind the string, array or object that begins at `start`; negative when there is none. */
function endOfAny(text: string, start: number): number {
  const code = text.charCodeAt(start);
  if (code === quote) return endOfString(text, start) + 1;
  return code === openBrace || code === openBracket ? endOfValue(text, start) : -1;
}

/** Whether position `at` is a key directly inside the object's own metadata. */
function isMetadata(text: string, at: number, opening: string): boolean {
  const opens: number[] = [];
  for (let i = 0; i < at; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = endOfString(text, i);
    else if (code === openBrace || code === openBracket) opens.push(i);
    else if (code === closeBrace || code === closeBracket) opens.pop();
    if (i >= at) return false;
  }
  const depth = opening === "" ? 2 : 3;
  if (opens.length !== depth) return false;
  const metadata = opens[depth - 1] ?? 0;
  const object = opens[depth - 2] ?? 0;
  return precedes(text, '"metadata":', metadata) && precedes(text, opening, object);
}

function precedes(text: string, word: string, at: number): boolean {
  return text.startsWith(word, at - word.length);
}

/** Just behind the array or object that begins at `start`; negative when it never ends. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = endOfString(text, i);
    else if (code === openBrace || code === openBracket) depth++;
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return i + 1;
  }
  return -1;
}

/** The closing quote of the string that begins at `start`, or the text's end. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) return i;
    if (code === backslash) i++;
  }
  return text.length;
}
