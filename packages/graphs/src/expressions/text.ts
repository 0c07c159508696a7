/** Finds `${…}` in the strings of a definition, and reads it as CEL. */
import { invalid } from "../errors.ts";
import type { Path } from "../path.ts";

/** An expression in a string. */
interface Found {
  readonly text: string;
  /** Of the dollar sign, and behind the closing brace. */
  readonly start: number;
  readonly end: number;
}

/** CEL for a string that holds expressions. */
export interface CelText {
  readonly cel: string;
  /** As the author wrote it, for messages. */
  readonly shown: string;
  /** The expression is the whole string: its value may be of any type. */
  readonly standalone: boolean;
}

/** Undefined for a string without expressions. */
export function celOf(text: string, path: Path): CelText | undefined {
  const found = findExpressions(text, path);
  const [only, ...others] = found;
  if (!only) return undefined;
  if (others.length === 0 && only.start === 0 && only.end === text.length) {
    return { cel: only.text, shown: text, standalone: true };
  }
  const parts: string[] = [];
  let at = 0;
  for (const { text: cel, start, end } of found) {
    if (start > at) parts.push(literal(text.slice(at, start)));
    parts.push(`(${cel})`);
    at = end;
  }
  if (at < text.length) parts.push(literal(text.slice(at)));
  return { cel: parts.join(" + "), shown: text, standalone: false };
}

/** The one expression that a string must be: conditions and lists to go through. */
export function onlyCel(text: string, path: Path): CelText {
  const cel = celOf(text, path);
  if (cel?.standalone) return cel;
  throw invalid(path, `${JSON.stringify(text)} must be one expression: \${…}`);
}

/** JSON's escapes are CEL's. */
function literal(text: string): string {
  return JSON.stringify(text);
}

/** Braces inside expressions count, those inside their strings do not. What is not closed is plain text. */
function findExpressions(text: string, path: Path): Found[] {
  const found: Found[] = [];
  for (let start = text.indexOf("${"); start >= 0; ) {
    const end = endOf(text, start, path);
    if (end !== undefined) found.push({ text: text.slice(start + 2, end - 1), start, end });
    start = text.indexOf("${", end ?? start + 2);
  }
  return found;
}

function endOf(text: string, start: number, path: Path): number | undefined {
  let depth = 1;
  let quote = "";
  for (let at = start + 2; at < text.length; at++) {
    const char = text[at] as string;
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (char === "$" && text[at + 1] === "{") {
      throw invalid(path, `${JSON.stringify(text)} has an expression inside an expression`);
    } else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}
