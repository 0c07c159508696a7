/**
 * A JSON reader of our own, for the texts that `JSON.parse` must not see: V8 since 13 (Node 24 and later) takes a key
 * that is written with an escape for another key that it has met before in the same place, so that one user's object
 * changes how another's is read. See docs/decisions/0004-json-with-escaped-keys.md.
 */
import type { JsonObject, JsonValue } from "./object.ts";
import { setKey } from "./set-key.ts";

const quote = 34;
const comma = 44;
const colon = 58;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/**
 * Whether a key is written with an escape. Only strings that hold a backslash are looked at, so a text without one costs
 * a search for it. Exact up to the first fault in the text, and nothing is read behind a fault.
 */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf("\\"); at >= 0; ) {
    const end = endOfString(text, at);
    let next = end;
    while (isSpace(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === colon) return true;
    at = text.indexOf("\\", end);
  }
  return false;
}

/** Behind the closing quote of the string that `at` is in, `at` not inside an escape; the end when there is none. */
function endOfString(text: string, at: number): number {
  for (let close = text.indexOf('"', at); close >= 0; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (before >= at && text.charCodeAt(before) === backslash) before--;
    if ((close - before) % 2 === 1) return close + 1;
  }
  return text.length;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Reads what `JSON.parse` reads, and throws a `SyntaxError` where it would. `toNumber` makes a number of its digits. */
export function readJson(text: string, toNumber: (digits: string) => JsonValue): JsonValue {
  return new JsonReader(text, toNumber).document();
}

/**
 * V8 makes a longer piece of a text a view of it, which keeps all of the text for as long as the piece lives. Keys need no
 * copy: V8 makes one of its own.
 */
const longestCopied = 12;

/** A container that is being filled, and the key that its next value belongs to. */
type Open =
  | { readonly object: JsonObject; readonly array?: undefined; key: string }
  | { readonly object?: undefined; readonly array: JsonValue[] };

/** Keeps the open containers in a list and not on the stack: no text is too deep for it, as none is for `JSON.parse`. */
class JsonReader {
  readonly #text: string;
  readonly #toNumber: (digits: string) => JsonValue;
  readonly #open: Open[] = [];
  /** The part of a string without escapes. */
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in strings.
  readonly #plain = /[^"\\\u0000-\u001f]*/y;
  readonly #number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  #at = 0;

  constructor(text: string, toNumber: (digits: string) => JsonValue) {
    this.#text = text;
    this.#toNumber = toNumber;
  }

  document(): JsonValue {
    this.#space();
    for (;;) {
      let value = this.#begin();
      while (value !== undefined) {
        const into = this.#open.at(-1);
        if (into === undefined) {
          this.#space();
          return this.#at === this.#text.length ? value : this.#fail();
        }
        if (into.array) into.array.push(value);
        else setKey(into.object, into.key, value);
        value = this.#separate(into);
      }
    }
  }

  /** The value that begins here. Undefined when it is a container with something in it, which is open then. */
  #begin(): JsonValue | undefined {
    switch (this.#text.charCodeAt(this.#at)) {
      case openBrace:
        this.#next();
        if (this.#text.charCodeAt(this.#at) === closeBrace) return this.#close({});
        this.#open.push({ object: {}, key: this.#key() });
        return undefined;
      case openBracket:
        this.#next();
        if (this.#text.charCodeAt(this.#at) === closeBracket) return this.#close([]);
        this.#open.push({ array: [] });
        return undefined;
      case quote:
        return this.#string(longestCopied);
      case 116:
        return this.#word("true", true);
      case 102:
        return this.#word("false", false);
      case 110:
        return this.#word("null", null);
      default:
        return this.#digits();
    }
  }

  /** Behind a value: undefined when another one follows, the container when it ends here. */
  #separate(into: Open): JsonValue | undefined {
    this.#space();
    const code = this.#text.charCodeAt(this.#at);
    if (code === comma) {
      this.#next();
      if (into.object) into.key = this.#key();
      return undefined;
    }
    if (code !== (into.array ? closeBracket : closeBrace)) this.#fail();
    this.#open.pop();
    return this.#close(into.array ?? into.object);
  }

  #close<T>(container: T): T {
    this.#at++;
    return container;
  }

  #key(): string {
    if (this.#text.charCodeAt(this.#at) !== quote) this.#fail();
    const key = this.#string();
    this.#space();
    if (this.#text.charCodeAt(this.#at) !== colon) this.#fail();
    this.#next();
    return key;
  }

  /** What is longer than `longestCut` is a copy. */
  #string(longestCut = Number.POSITIVE_INFINITY): string {
    const start = this.#at;
    this.#plain.lastIndex = start + 1;
    this.#plain.test(this.#text);
    this.#at = this.#plain.lastIndex;
    const code = this.#text.charCodeAt(this.#at);
    if (code === quote) {
      this.#at++;
      if (this.#at - start - 2 <= longestCut) return this.#text.slice(start + 1, this.#at - 1);
    } else {
      if (code !== backslash) this.#fail();
      this.#at = endOfString(this.#text, this.#at);
    }
    // biome-ignore lint/plugin: a string alone has no keys.
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
    return value;
  }

  #digits(): JsonValue {
    this.#number.lastIndex = this.#at;
    const start = this.#at;
    if (!this.#number.test(this.#text)) this.#fail();
    this.#at = this.#number.lastIndex;
    return this.#toNumber(this.#text.slice(start, this.#at));
  }

  #next(): void {
    this.#at++;
    this.#space();
  }

  #space(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #fail(): never {
    const char = this.#text[this.#at];
    throw new SyntaxError(
      char === undefined
        ? "Unexpected end of JSON input"
        : `Unexpected token ${JSON.stringify(char)} in JSON at position ${this.#at}`,
    );
  }
}
