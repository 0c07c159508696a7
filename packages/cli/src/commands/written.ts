/** Says what became of a scaffold's files, one line each. */
import type { StricliProcess } from "@stricli/core";
import type { Written } from "../scaffold/write-files.ts";

export function said(process: StricliProcess, { kept, made, same }: Written): void {
  for (const path of made) process.stdout.write(`  made  ${path}\n`);
  for (const path of kept) process.stdout.write(`  kept  ${path}, which is there already and differs\n`);
  if (made.length === 0 && same.length > 0) process.stdout.write("  everything is there already\n");
}
