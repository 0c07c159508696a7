/** Reads the tables of a Markdown page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";

export interface Row {
  /** The nearest heading above the table. */
  readonly section: string;
  /** By the table's header, in lower case. Code spans lose their backquotes. */
  readonly cells: Readonly<Record<string, string>>;
}

/** Every row of every table of a page below docs/. */
export function tableRows(page: string): Row[] {
  const rows: Row[] = [];
  let section = "";
  let header: string[] | undefined;
  for (const line of readFileSync(join(root, "docs", page), "utf8").split("\n")) {
    const heading = /^#+ (.*)$/.exec(line)?.[1];
    if (heading !== undefined) section = heading;
    if (!line.startsWith("|")) {
      header = undefined;
      continue;
    }
    const cells = line
      .slice(1, line.lastIndexOf("|"))
      .split(/(?<!\\)\|/)
      .map(plain);
    if (header === undefined) header = cells.map((cell) => cell.toLowerCase());
    else if (!/^[-: ]*$/.test(cells.join(""))) {
      const names = header;
      rows.push({ section, cells: Object.fromEntries(cells.map((cell, i) => [names[i] ?? "", cell])) });
    }
  }
  return rows;
}

/** A cell without the backquotes of a code span, and with its pipes as they are. */
function plain(cell: string): string {
  const text = cell.trim().replaceAll("\\|", "|");
  const span = /^(`+)(.*)\1$/.exec(text);
  return span && !span[2]?.includes(span[1] ?? "") ? (span[2] ?? "").trim() : text;
}
