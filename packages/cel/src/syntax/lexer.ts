/** Splits an expression into tokens; the longest match wins, and what matches nothing is reported and skipped. */
import type { Source } from "./source.ts";

export type TokenKind =
  | "=="
  | "!="
  | "in"
  | "<"
  | "<="
  | ">="
  | ">"
  | "&&"
  | "||"
  | "["
  | "]"
  | "{"
  | "}"
  | "("
  | ")"
  | "."
  | ","
  | "-"
  | "!"
  | "?"
  | ":"
  | "+"
  | "*"
  | "/"
  | "%"
  | "true"
  | "false"
  | "null"
  | "NUM_FLOAT"
  | "NUM_INT"
  | "NUM_UINT"
  | "STRING"
  | "BYTES"
  | "IDENTIFIER"
  | "ESC_IDENTIFIER"
  | "<EOF>";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Code point offsets into the source; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

export interface LexError {
  readonly offset: number;
  readonly text: string;
}

export interface LexResult {
  /** Ends with one `<EOF>` token. */
  readonly tokens: readonly Token[];
  readonly errors: readonly LexError[];
}

const keywords: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);
const pairs: ReadonlySet<string> = new Set(["==", "!=", "<=", ">=", "&&", "||"]);
const singles: ReadonlySet<string> = new Set([..."<>[]{}().,-!?:+*/%"]);

export function lex(source: Source): LexResult {
  return new Lexer(source).run();
}

class Lexer {
  readonly #source: Source;
  readonly #points: readonly number[];
  readonly #tokens: Token[] = [];
  readonly #errors: LexError[] = [];

  constructor(source: Source) {
    this.#source = source;
    this.#points = source.points;
  }

  run(): LexResult {
    let at = 0;
    while (at < this.#points.length) at = this.#next(at);
    this.#tokens.push({ kind: "<EOF>", text: "<EOF>", start: at, end: at });
    return { tokens: this.#tokens, errors: this.#errors };
  }

  /** Reads one token, blank or comment at `at` and returns where the next begins. */
  #next(at: number): number {
    const c = this.#char(at);
    if (c === " " || c === "\t" || c === "\n" || c === "\r" || c === "\f") return at + 1;
    if (c === "/" && this.#char(at + 1) === "/") {
      let end = at;
      while (end < this.#points.length && this.#points[end] !== 10) end++;
      return end;
    }
    if (isDigit(c) || (c === "." && isDigit(this.#char(at + 1)))) return this.#number(at);
    if (c === '"' || c === "'") return this.#string(at, at, "STRING", false) ?? this.#unterminated(at);
    if (isIdentStart(c)) return this.#word(at, c);
    if (c === "`") return this.#escaped(at);
    const pair = c + this.#char(at + 1);
    if (pairs.has(pair)) return this.#push(pair as TokenKind, at, at + 2);
    if (singles.has(c)) return this.#push(c as TokenKind, at, at + 1);
    return this.#fail(at, c === "=" || c === "&" || c === "|" ? at + 1 : at);
  }

  #word(at: number, first: string): number {
    const prefix = first.toLowerCase();
    if (prefix === "r" || prefix === "b") {
      const kind = prefix === "b" ? "BYTES" : "STRING";
      const raw = prefix === "r" || this.#char(at + 1).toLowerCase() === "r";
      const quote = prefix === "b" && raw ? at + 2 : at + 1;
      const c = this.#char(quote);
      if (c === '"' || c === "'") {
        const end = this.#string(at, quote, kind, raw);
        if (end !== undefined) return end;
      }
    }
    let end = at + 1;
    while (isIdentPart(this.#char(end))) end++;
    const text = this.#source.slice(at, end);
    return this.#push(keywords.has(text) ? (text as TokenKind) : "IDENTIFIER", at, end);
  }

  #number(at: number): number {
    let end = at;
    if (this.#char(at) === "0" && this.#char(at + 1) === "x" && isHex(this.#char(at + 2))) {
      end = at + 2;
      while (isHex(this.#char(end))) end++;
    } else {
      end = this.#digits(end);
      let isFloat = false;
      if (this.#char(end) === "." && isDigit(this.#char(end + 1))) {
        isFloat = true;
        end = this.#digits(end + 1);
      }
      const exponent = this.#exponent(end);
      if (exponent !== undefined) {
        isFloat = true;
        end = exponent;
      }
      if (isFloat) return this.#push("NUM_FLOAT", at, end);
    }
    const suffix = this.#char(end);
    if (suffix === "u" || suffix === "U") return this.#push("NUM_UINT", at, end + 1);
    return this.#push("NUM_INT", at, end);
  }

  #digits(at: number): number {
    let end = at;
    while (isDigit(this.#char(end))) end++;
    return end;
  }

  #exponent(at: number): number | undefined {
    const c = this.#char(at);
    if (c !== "e" && c !== "E") return undefined;
    const sign = this.#char(at + 1);
    const start = sign === "+" || sign === "-" ? at + 2 : at + 1;
    return isDigit(this.#char(start)) ? this.#digits(start) : undefined;
  }

  /** The end of a string whose opening quote stands at `quote`; undefined when it does not end. */
  #string(start: number, quote: number, kind: TokenKind, raw: boolean): number | undefined {
    const mark = this.#char(quote);
    if (this.#char(quote + 1) === mark && this.#char(quote + 2) === mark) {
      const end = this.#tripleEnd(quote + 3, mark, raw);
      if (end !== undefined) return this.#push(kind, start, end);
    }
    let at = quote + 1;
    for (;;) {
      const c = this.#char(at);
      if (c === mark) return this.#push(kind, start, at + 1);
      if (c === "" || c === "\n" || c === "\r") break;
      if (c === "\\" && !raw) {
        const next = this.#escape(at);
        if (next < 0) {
          at = -next;
          break;
        }
        at = next;
      } else at++;
    }
    this.#failedAt = at;
    return undefined;
  }

  /** Where the last string stopped matching: the message quotes the text up to there. */
  #failedAt = 0;

  #tripleEnd(from: number, mark: string, raw: boolean): number | undefined {
    let at = from;
    for (;;) {
      const c = this.#char(at);
      if (c === "") return undefined;
      if (c === mark && this.#char(at + 1) === mark && this.#char(at + 2) === mark) return at + 3;
      if (c === "\\" && !raw) {
        at = this.#escape(at);
        if (at < 0) return undefined;
      } else at++;
    }
  }

  /** Past the escape sequence at `at`, or minus the offset where it went wrong. */
  #escape(at: number): number {
    const c = this.#char(at + 1);
    if (c !== "" && "abfnrtv\"'\\?`".includes(c)) return at + 2;
    const digits = c === "x" || c === "X" ? 2 : c === "u" ? 4 : c === "U" ? 8 : 0;
    for (let i = 0; i < digits; i++) if (!isHex(this.#char(at + 2 + i))) return -(at + 2 + i);
    if (digits > 0) return at + 2 + digits;
    if (c >= "0" && c <= "3" && c !== "") {
      if (!isOctal(this.#char(at + 2))) return -(at + 2);
      if (!isOctal(this.#char(at + 3))) return -(at + 3);
      return at + 4;
    }
    return -(at + 1);
  }

  #unterminated(at: number): number {
    return this.#fail(at, this.#failedAt);
  }

  #escaped(at: number): number {
    let end = at + 1;
    while (isIdentPart(this.#char(end)) || (this.#char(end) !== "" && ".-/ ".includes(this.#char(end))))
      end++;
    if (end > at + 1 && this.#char(end) === "`") return this.#push("ESC_IDENTIFIER", at, end + 1);
    return this.#fail(at, end);
  }

  #fail(start: number, failedAt: number): number {
    this.#errors.push({ offset: start, text: this.#source.slice(start, failedAt + 1) });
    return Math.min(failedAt + 1, this.#points.length);
  }

  #push(kind: TokenKind, start: number, end: number): number {
    this.#tokens.push({ kind, text: this.#source.slice(start, end), start, end });
    return end;
  }

  /** One character, empty past the end. */
  #char(at: number): string {
    const point = this.#points[at];
    return point === undefined ? "" : String.fromCodePoint(point);
  }
}

function isDigit(c: string): boolean {
  return c >= "0" && c <= "9" && c.length === 1;
}

function isHex(c: string): boolean {
  return isDigit(c) || (c.length === 1 && ((c >= "a" && c <= "f") || (c >= "A" && c <= "F")));
}

function isOctal(c: string): boolean {
  return c.length === 1 && c >= "0" && c <= "7";
}

function isIdentStart(c: string): boolean {
  return c.length === 1 && ((c >= "a" && c <= "z") || (c >= "A" && c <= "Z") || c === "_");
}

function isIdentPart(c: string): boolean {
  return isIdentStart(c) || isDigit(c);
}
