/** Reads JSON bodies as the real server does: duplicate keys are noticed, faults are named in its words. */
import { isRawNumber, type JsonValue, parseJson } from "@keelson/core";
import { maxDepth } from "../contracts/limits.ts";

export class JsonSyntaxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JsonSyntaxError";
  }
}

/** Halves of a character, of which a single one stands for nothing. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

export interface JsonBody {
  readonly value: JsonValue;
  /** Paths of keys given more than once, as `data.k`. */
  readonly duplicates: readonly string[];
}

/** Throws a JsonSyntaxError worded as Go words it. */
export function parseJsonBody(text: string): JsonBody {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch {
    new Scanner(text).document();
    throw new JsonSyntaxError("unexpected end of JSON input");
  }
  if (surrogateEscape.test(text)) value = wellFormed(value);
  const keys = countKeys(value, 0);
  return { value, duplicates: countWritten(text) > keys ? new Scanner(text).document() : [] };
}

/**
 * Calls back with the paths of the keys of a valid text, in the order in which they are written, one that is repeated
 * again; until the answer is true.
 */
export function findWrittenKey(text: string, isLast: (path: string) => boolean): void {
  try {
    new Scanner(text, (path) => {
      if (isLast(path)) throw new Found();
    }).document();
  } catch (error) {
    if (!(error instanceof Found)) throw error;
  }
}

class Found extends Error {}

const quote = '"';
const colon = 58;
const backslash = 92;

/** Keys in valid JSON as they are written, of which a surplus means that one was given twice: strings before a colon. */
function countWritten(text: string): number {
  let count = 0;
  for (let open = text.indexOf(quote); open >= 0; ) {
    let close = text.indexOf(quote, open + 1);
    while (isEscaped(text, close)) close = text.indexOf(quote, close + 1);
    let next = close + 1;
    while (isSpace(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === colon) count++;
    open = text.indexOf(quote, next);
  }
  return count;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before--;
  return (at - before) % 2 === 0;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Replaces halves of characters, as Go does. */
function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item as JsonValue)]),
  );
}

function countKeys(value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth > maxDepth) throw new JsonSyntaxError("exceeded max depth");
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") count += countKeys(item, depth + 1);
    return count;
  }
  if (Object.getPrototypeOf(value) === null) return 0;
  const keys = Object.keys(value);
  count += keys.length;
  for (const key of keys) {
    const item = value[key] as JsonValue;
    if (typeof item === "object") count += countKeys(item, depth + 1);
  }
  return count;
}

/** The slow reader, for texts that are known to be faulty or to repeat a key. */
class Scanner {
  readonly #text: string;
  #at = 0;
  readonly #duplicates: string[] = [];
  readonly #onKey: ((path: string) => void) | undefined;

  constructor(text: string, onKey?: (path: string) => void) {
    this.#text = text;
    this.#onKey = onKey;
  }

  document(): string[] {
    this.#space();
    this.#value("", 0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail("after top-level value");
    return this.#duplicates;
  }

  #value(path: string, depth: number): void {
    if (depth > maxDepth) throw new JsonSyntaxError("exceeded max depth");
    const char = this.#text[this.#at];
    if (char === "{") this.#object(path, depth);
    else if (char === "[") this.#array(path, depth);
    else if (char === '"') this.#string();
    else if (char === "t") this.#word("true");
    else if (char === "f") this.#word("false");
    else if (char === "n") this.#word("null");
    else if (char !== undefined && /[-0-9]/.test(char)) this.#number();
    else this.#fail("looking for beginning of value");
  }

  #object(path: string, depth: number): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === "}") {
      this.#at++;
      return;
    }
    const seen = new Set<string>();
    for (;;) {
      if (this.#text[this.#at] !== '"') this.#fail("looking for beginning of object key string");
      const key = this.#string();
      const at = path ? `${path}.${key}` : key;
      this.#onKey?.(at);
      if (seen.has(key)) this.#duplicates.push(at);
      seen.add(key);
      this.#space();
      if (this.#text[this.#at] !== ":") this.#fail("after object key");
      this.#at++;
      this.#space();
      this.#value(at, depth + 1);
      this.#space();
      const next = this.#text[this.#at];
      if (next === "}") break;
      if (next !== ",") this.#fail("after object key:value pair");
      this.#at++;
      this.#space();
    }
    this.#at++;
  }

  #array(path: string, depth: number): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === "]") {
      this.#at++;
      return;
    }
    for (let index = 0; ; index++) {
      this.#value(`${path}[${index}]`, depth + 1);
      this.#space();
      const next = this.#text[this.#at];
      if (next === "]") break;
      if (next !== ",") this.#fail("after array element");
      this.#at++;
      this.#space();
    }
    this.#at++;
  }

  #string(): string {
    const start = this.#at++;
    let isPlain = true;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new JsonSyntaxError("unexpected end of JSON input");
      if (char === "\\") {
        this.#at += 2;
        isPlain = false;
      } else if (char < " ") this.#fail("in string literal");
      else {
        this.#at++;
        if (char === '"') break;
      }
    }
    if (isPlain) return this.#text.slice(start + 1, this.#at - 1);
    const raw = this.#text.slice(start, this.#at);
    try {
      return parseJson(raw) as string;
    } catch {
      throw new JsonSyntaxError(`invalid character in string escape code`);
    }
  }

  #word(word: string): void {
    for (const char of word) {
      if (this.#text[this.#at] !== char) this.#fail(`in literal ${word} (expecting '${char}')`);
      this.#at++;
    }
  }

  #number(): void {
    const match = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/.exec(this.#text.slice(this.#at, this.#at + 400));
    if (!match) {
      this.#at++;
      this.#fail("in numeric literal");
    }
    this.#at += match[0].length;
  }

  #space(): void {
    while (
      this.#at < this.#text.length &&
      (this.#text[this.#at] === " " ||
        this.#text[this.#at] === "\n" ||
        this.#text[this.#at] === "\t" ||
        this.#text[this.#at] === "\r")
    )
      this.#at++;
  }

  #fail(context: string): never {
    const char = this.#text[this.#at];
    if (char === undefined) throw new JsonSyntaxError("unexpected end of JSON input");
    throw new JsonSyntaxError(`invalid character ${quoteChar(char)} ${context}`);
  }
}

function quoteChar(char: string): string {
  if (char === "'") return `'\\''`;
  if (char === '"') return `'"'`;
  const code = char.charCodeAt(0);
  const plain = "\b\f\n\r\t".includes(char) || code >= 0x20;
  return plain ? `'${JSON.stringify(char).slice(1, -1)}'` : `'\\x${code.toString(16).padStart(2, "0")}'`;
}
