/** The place of a mistake, as people look at it: the line with its neighbours, and a mark below. */

/** Where a mistake is; lines and columns count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** How many characters are marked. Default: the word at the place. */
  readonly length?: number;
}

/** Two lines before and one after, numbered. */
export function codeFrame(source: string, { line, column, length }: Place): string[] {
  const lines = source.split(/\r?\n/);
  const first = Math.max(1, line - 2);
  const last = Math.min(lines.length, line + 1);
  const width = String(last).length;
  const frame: string[] = [];
  for (let at = first; at <= last; at++) {
    const text = (lines[at - 1] ?? "").replaceAll("\t", " ");
    frame.push(`${at === line ? ">" : " "} ${String(at).padStart(width)} | ${text}`);
    if (at !== line) continue;
    const word = /^[\w$]+|^"[^"]*"|^'[^']*'/.exec(text.slice(column - 1))?.[0].length ?? 1;
    const marks = "^".repeat(Math.max(1, Math.min(length ?? word, text.length - column + 1)));
    frame.push(`  ${" ".repeat(width)} | ${" ".repeat(column - 1)}${marks}`);
  }
  return frame;
}
