/** Writes a scaffold's files: all or none, and never over one that is there. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CliError } from "../errors.ts";

/** One file of a scaffold. */
export interface ScaffoldFile {
  /** Relative to the project. */
  readonly path: string;
  readonly content: string;
  /** The text that the content was made from: the file is replaced if it is still that. */
  readonly replaces?: string;
}

/** What became of each file, by its path. */
export interface Written {
  readonly made: readonly string[];
  /** Those of `made` that were there before. */
  readonly changed: readonly string[];
  /** There already, with exactly this content. */
  readonly same: readonly string[];
  /** There already with another content, which was left as it is. */
  readonly kept: readonly string[];
}

export function writeFiles(directory: string, files: readonly ScaffoldFile[]): Written {
  const written = {
    made: [] as string[],
    changed: [] as string[],
    same: [] as string[],
    kept: [] as string[],
  };
  const undo: (() => void)[] = [];
  try {
    for (const { path, content, replaces } of files) {
      const full = join(directory, path);
      const before = existsSync(full) ? readFileSync(full, "utf8") : undefined;
      if (before === content) written.same.push(path);
      else if (before !== replaces) written.kept.push(path);
      else {
        const made = makeFolder(dirname(full));
        if (made !== undefined) undo.push(() => rmSync(made, { recursive: true, force: true }));
        undo.push(() => (before === undefined ? rmSync(full, { force: true }) : writeFileSync(full, before)));
        writeFileSync(full, content);
        written.made.push(path);
        if (before !== undefined) written.changed.push(path);
      }
    }
  } catch (error) {
    for (const step of undo.reverse()) step();
    const why = (error as Error).message;
    throw new CliError("CannotWrite", `nothing was written to ${directory}: ${why}`, { cause: error });
  }
  return written;
}

/**
 * The first folder that had to be made, if any. Node's own `recursive` never comes back from a place where folders cannot
 * be made though it is there, such as /proc.
 */
function makeFolder(folder: string): string | undefined {
  // Refuses a file in its place.
  if (existsSync(folder)) return mkdirSync(folder, { recursive: true });
  const above = makeFolder(dirname(folder));
  mkdirSync(folder);
  return above ?? folder;
}
