/** Executable files of our own that are gone, but for a file descriptor, before anyone could look at them. */
import { openSync, unlinkSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

export class ProgramFiles {
  readonly directory: string;
  #made = 0;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** In memory, please: programs hold the variables of containers, which may be secrets. */
  static async open(directory: string): Promise<ProgramFiles> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return new ProgramFiles(directory);
  }

  /** A descriptor to hand to a child, which runs it as `/proc/self/fd/N`, and to close then. */
  add(program: Buffer): number {
    const path = join(this.directory, String(this.#made++));
    // All in one turn: a process started in between would inherit the file open for writing, and it could not be run.
    writeFileSync(path, program, { mode: 0o555 });
    const fd = openSync(path, "r");
    unlinkSync(path);
    return fd;
  }
}
