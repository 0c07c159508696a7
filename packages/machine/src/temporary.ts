/** Temporary directories that name their owner, and the removal of those whose owner was killed. */
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, markPattern, ownMark } from "./owner.ts";
import { removeTree } from "./remove-tree.ts";

/** Makes a temporary directory that names this process, so that a later run can remove it. */
export async function temporaryDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), `keelson-${ownMark()}-`));
}

/** The directory itself, or a temporary one when a Unix socket in it would have a path that the kernel refuses. */
export async function socketDirectory(wanted: string): Promise<string> {
  return Buffer.byteLength(wanted) <= longestSocketDirectory ? wanted : await temporaryDirectory();
}

/** Unix socket paths end at 107 bytes; leaves room for a name. */
const longestSocketDirectory = 80;

/** Removes what killed processes of ours left. What belongs to other users stays. */
export async function sweepTemporary(): Promise<void> {
  const made = new RegExp(`^keelson-(${markPattern})-\\w{6}$`);
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const mark = made.exec(name)?.[1];
    if (mark === undefined || !isAbandoned(mark)) continue;
    await removeTree(join(tmpdir(), name)).catch(() => undefined);
  }
}
