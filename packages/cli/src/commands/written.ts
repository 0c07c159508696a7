/** Says what became of a scaffold's files, one line each. */
import type { StricliProcess } from "@stricli/core";
import type { Written } from "../scaffold/write-files.ts";

export function said(process: StricliProcess, { changed, kept, made, same }: Written): void {
  for (const path of made) {
    process.stdout.write(`  ${changed.includes(path) ? "changed" : "made"}  ${path}\n`);
  }
  for (const path of kept) process.stdout.write(`  kept  ${path}, which is there already and differs\n`);
  if (made.length === 0 && same.length > 0) process.stdout.write("  everything is there already\n");
}

/** Shows the lines that a person adds to an entry of another form. */
export function left(process: StricliProcess, entry: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const shown = lines.map((line) => `  ${line}\n`).join("");
  process.stdout.write(`\n${entry} has a form of its own; add to it:\n\n${shown}`);
}
