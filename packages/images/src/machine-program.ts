/** Copies a program of this machine, with the libraries it loads, into a root file system. */
import { existsSync, realpathSync } from "node:fs";
import { chmod, copyFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runCommand } from "@keelson/machine";

/** Libraries go where the machine has them. */
export async function copyProgram(program: string, root: string, target: string): Promise<void> {
  await place(program, join(root, target));
  for (const library of await librariesOf(program)) {
    const path = join(root, library);
    if (!existsSync(path)) await place(library, path);
  }
}

/** Absolute paths of the shared libraries and the loader; empty for a static program. */
async function librariesOf(program: string): Promise<string[]> {
  const listed = await runCommand("ldd", [program]).catch(() => undefined);
  if (listed === undefined || listed.code !== 0) return [];
  return [...listed.stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? "");
}

async function place(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  // It may be a hard link into another image, which must not be written through.
  await rm(target, { force: true });
  await copyFile(realpathSync(source), target);
  await chmod(target, 0o755);
}
