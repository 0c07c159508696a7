/** An expression's text: offsets count code points, as the language does, not UTF-16 units. */
import { byteLength } from "@keelson/core/internal";

/** Lines count from 1, columns from 0; line -1 stands for no place at all. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

export const noLocation: Location = Object.freeze({ line: -1, column: -1 });

/** Lines longer than this are not repeated in a message. */
const maxSnippetBytes = 16384;

export class Source {
  readonly text: string;
  readonly description: string;
  /** The text, one code point an element. */
  readonly points: readonly number[];
  /** The offset after each line break. */
  readonly #lineStarts: number[] = [0];

  constructor(text: string, description = "<input>") {
    this.text = text;
    this.description = description;
    const points: number[] = [];
    for (const character of text) points.push(character.codePointAt(0) ?? 0);
    this.points = points;
    for (let i = 0; i < points.length; i++) if (points[i] === 10) this.#lineStarts.push(i + 1);
  }

  slice(start: number, end: number): string {
    let out = "";
    for (let i = start; i < end && i < this.points.length; i++) {
      out += String.fromCodePoint(this.points[i] ?? 0);
    }
    return out;
  }

  location(offset: number): Location {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) };
  }

  /** One message with the line it is about and a caret below its column. */
  display(location: Location, message: string): string {
    const head = `ERROR: ${this.description}:${location.line}:${location.column + 1}: ${message}`;
    const snippet = this.#snippet(location.line);
    if (snippet === undefined) return head;
    let indent = "";
    let column = 0;
    let under = "^";
    for (const character of snippet) {
      // A wide caret keeps its place below characters that take more than one byte.
      const wide = (character.codePointAt(0) ?? 0) > 0x7f;
      if (column >= location.column) {
        under = wide ? "\uff3e" : "^";
        break;
      }
      indent += wide ? "\uff0e" : ".";
      column++;
    }
    return `${head}\n | ${snippet}\n | ${indent}${under}`;
  }

  #snippet(line: number): string | undefined {
    const start = this.#lineStarts[line - 1];
    if (start === undefined || this.points.length === 0) return undefined;
    const next = this.#lineStarts[line];
    const text = this.slice(start, next === undefined ? this.points.length : next - 1);
    return byteLength(text) > maxSnippetBytes ? undefined : text.replaceAll("\t", " ");
  }
}
