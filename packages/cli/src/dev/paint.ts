/** Colours of a terminal, and lengths of text that has them. */

/** Each gives the text its colour; a terminal without colours gets it as it is. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const ESCAPE = "\u001b";

const coded = (on: number, off: number) => (text: string) =>
  text === "" ? "" : `${ESCAPE}[${on}m${text}${ESCAPE}[${off}m`;

export const colours: Paint = {
  bold: coded(1, 22),
  dim: coded(2, 22),
  red: coded(31, 39),
  green: coded(32, 39),
  yellow: coded(33, 39),
};

const plain = (text: string) => text;

export const noColours: Paint = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain };

/** A character that a terminal shows in one column, or a code, which takes none. */
interface Piece {
  readonly text: string;
  readonly shown: boolean;
}

function piecesOf(text: string): Piece[] {
  return text.split(new RegExp(`(${ESCAPE}\\[[\\d;]*m)`)).flatMap((part, index): Piece[] => {
    const isCode = index % 2 === 1;
    return isCode ? [{ text: part, shown: false }] : [...part].map((each) => ({ text: each, shown: true }));
  });
}

/** The first columns of a text; its colours end with it. */
export function truncate(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let width = 0;
  let kept = "";
  for (const { text: piece, shown } of piecesOf(text)) {
    if (!shown) kept += piece;
    else if (width < columns - 1) {
      kept += piece;
      width++;
    } else if (width === columns - 1) {
      kept += "…";
      width++;
    }
  }
  return kept;
}

/** Exactly this many columns. */
export function pad(text: string, columns: number): string {
  const short = truncate(text, columns);
  return short + " ".repeat(Math.max(0, columns - widthOf(short)));
}

/** A text without colours in lines that are no longer than this; the last one ends where there is no room for more. */
export function wrap(text: string, columns: number, most: number): string[] {
  const lines: string[] = [];
  let rest = text.replaceAll(/\s+/g, " ").trim();
  while (rest.length > columns && lines.length < most - 1) {
    const space = rest.lastIndexOf(" ", columns);
    const end = space > columns / 2 ? space : columns;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, truncate(rest, columns)];
}

function widthOf(text: string): number {
  return piecesOf(text).filter(({ shown }) => shown).length;
}
