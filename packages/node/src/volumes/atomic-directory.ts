/**
 * A directory of files that changes all at once: readers see the old set or the new one, never a mixture.
 *
 * The files live in a directory named after the time; `..data` is a link to it, and every visible name is a
 * link through `..data`. Renaming a new link over `..data` is the one moment of change.
 */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, posix } from "node:path";

export interface FileContent {
  readonly data: Buffer;
  readonly mode: number;
}

export interface AtomicOptions {
  /** Group of the files, where the node can give files away. */
  readonly gid?: number;
  readonly uid?: number;
  /** Distinguishes two changes; must not repeat. */
  readonly stamp: string;
}

const dataLink = "..data";

/** Makes the directory hold exactly `files`, by relative path. Returns whether anything changed. */
export async function writeAtomically(
  directory: string,
  files: ReadonlyMap<string, FileContent>,
  options: AtomicOptions,
): Promise<boolean> {
  await mkdir(directory, { recursive: true });
  const current = await readlink(join(directory, dataLink)).catch(() => undefined);
  if (current !== undefined && (await holds(join(directory, current), files))) return false;
  const next = `..${options.stamp}`;
  await rm(join(directory, next), { recursive: true, force: true });
  await mkdir(join(directory, next), { mode: 0o755 });
  for (const [path, { data, mode }] of files) {
    const target = join(directory, next, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, data);
    // Not at creation: the process's mask would bite.
    await chmod(target, mode);
    if (options.gid !== undefined || options.uid !== undefined) {
      await chown(target, options.uid ?? 0, options.gid ?? 0);
    }
  }
  await rm(join(directory, "..data_tmp"), { force: true });
  await symlink(next, join(directory, "..data_tmp"));
  await rename(join(directory, "..data_tmp"), join(directory, dataLink));
  await linkNames(directory, files);
  if (current !== undefined) await rm(join(directory, current), { recursive: true, force: true });
  return true;
}

async function linkNames(directory: string, files: ReadonlyMap<string, FileContent>): Promise<void> {
  const wanted = new Set([...files.keys()].map((path) => posix.normalize(path).split("/")[0] ?? ""));
  for (const name of wanted) {
    const present = await lstat(join(directory, name)).catch(() => undefined);
    if (present === undefined) await symlink(join(dataLink, name), join(directory, name));
  }
  for (const name of await readdir(directory)) {
    if (!name.startsWith("..") && !wanted.has(name)) await rm(join(directory, name), { force: true });
  }
}

async function holds(directory: string, files: ReadonlyMap<string, FileContent>): Promise<boolean> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return false;
  const present = entries.filter((entry) => !entry.isDirectory());
  if (present.length !== files.size) return false;
  for (const [path, { data, mode }] of files) {
    const content = await readFile(join(directory, path)).catch(() => undefined);
    if (content === undefined || !content.equals(data)) return false;
    if (((await lstat(join(directory, path))).mode & 0o7777) !== mode) return false;
  }
  return true;
}
