/** Finds the properties of an object literal in a source file, by its brackets, strings and comments alone. */

/** One property: where it begins and ends in the source, without the comma. */
export interface Property {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Where its value begins. */
  readonly value: number;
}

export interface ObjectLiteral {
  /** Of the opening brace and of the closing one. */
  readonly from: number;
  readonly to: number;
  readonly properties: readonly Property[];
}

/** The literal whose brace is at this place; undefined where its form is beyond what is understood here. */
export function objectLiteralAt(source: string, at: number): ObjectLiteral | undefined {
  if (source[at] !== "{") return undefined;
  const properties: Property[] = [];
  let begin = at + 1;
  let position = at + 1;
  let last = at + 1;
  const finish = () => {
    const found = propertyIn(source, begin, last);
    if (found) properties.push(found);
    return found !== undefined || source.slice(begin, last).trim() === "";
  };
  while (position < source.length) {
    const character = source[position] ?? "";
    if (character === "}") {
      if (!finish()) return undefined;
      return { from: at, to: position, properties };
    }
    if (character === ",") {
      if (!finish()) return undefined;
      begin = position + 1;
      last = begin;
      position++;
      continue;
    }
    const after = skip(source, position);
    if (after === undefined) return undefined;
    if (!/\s/.test(character) && !isComment(source, position)) last = after;
    position = after;
  }
  return undefined;
}

function propertyIn(source: string, from: number, to: number): Property | undefined {
  let start = from;
  for (;;) {
    const space = /^\s*/.exec(source.slice(start, to))?.[0].length ?? 0;
    if (!isComment(source, start + space)) {
      const match = /^\s*(?:([A-Za-z_$][\w$]*)|"([^"]+)")\s*:\s*/.exec(source.slice(start, to));
      if (!match) return undefined;
      const begin = /\S/.exec(source.slice(from, to))?.index ?? 0;
      return { name: match[1] ?? match[2] ?? "", from: from + begin, to, value: start + match[0].length };
    }
    const after = skip(source, start + space);
    if (after === undefined || after >= to) return undefined;
    start = after;
  }
}

function isComment(source: string, at: number): boolean {
  return source.startsWith("//", at) || source.startsWith("/*", at);
}

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Behind what begins at this place: a string, a comment, a regular expression, brackets with all in them, or one character. */
function skip(source: string, at: number): number | undefined {
  const character = source[at] ?? "";
  if (source.startsWith("//", at)) return endOr(source.indexOf("\n", at), source.length);
  if (source.startsWith("/*", at)) return endOr(source.indexOf("*/", at) + 2, undefined);
  if (character === '"' || character === "'") return behindQuoted(source, at, character);
  if (character === "`") return behindTemplate(source, at);
  if (character === "/" && /[(,=:[!&|?{};\s]$/.test(source.slice(Math.max(0, at - 1), at))) {
    return behindPattern(source, at);
  }
  const closing = CLOSING[character];
  if (closing === undefined) return at + 1;
  let position: number | undefined = at + 1;
  while (position !== undefined && position < source.length) {
    if (source[position] === closing) return position + 1;
    position = skip(source, position);
  }
  return undefined;
}

function endOr<T>(end: number, otherwise: T): number | T {
  return end <= 1 ? otherwise : end;
}

function behindQuoted(source: string, at: number, quote: string): number | undefined {
  for (let position = at + 1; position < source.length; position++) {
    if (source[position] === "\\") position++;
    else if (source[position] === quote) return position + 1;
  }
  return undefined;
}

function behindTemplate(source: string, at: number): number | undefined {
  for (let position = at + 1; position < source.length; position++) {
    if (source[position] === "\\") position++;
    else if (source[position] === "`") return position + 1;
    else if (source.startsWith("${", position)) {
      const end = skip(source, position + 1);
      if (end === undefined) return undefined;
      position = end - 1;
    }
  }
  return undefined;
}

function behindPattern(source: string, at: number): number | undefined {
  let inClass = false;
  for (let position = at + 1; position < source.length; position++) {
    const character = source[position];
    if (character === "\\") position++;
    else if (character === "[") inClass = true;
    else if (character === "]") inClass = false;
    else if (character === "\n") return at + 1;
    else if (character === "/" && !inClass) return position + 1;
  }
  return at + 1;
}
