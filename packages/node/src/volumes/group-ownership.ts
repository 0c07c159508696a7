/** Gives a volume to a group, file by file, without ever leaving it: containers may write to it at the same time. */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  openSync,
  readdirSync,
  type Stats,
} from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { NodeError } from "../errors.ts";

const placeOnly = 0o10_000_000 | constants.O_NOFOLLOW;
const setGroup = 0o2000;
/** Files that are changed before others get a turn. */
const batch = 500;
/** Each directory on the way is held open. */
const deepest = 500;

/** The group may do what the owner may, and owns what is made in its directories. */
export async function giveToGroup(path: string, group: number): Promise<void> {
  let changed = 0;
  const visit = async (place: string, depth: number): Promise<void> => {
    if (depth > deepest) {
      throw new NodeError(
        "MountFailed",
        `directories are nested more than ${deepest} deep: the volume cannot be given to a group`,
      );
    }
    let fd: number;
    try {
      fd = openSync(place, placeOnly);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw error;
    }
    try {
      if (++changed % batch === 0) await nextTurn();
      const found = fstatSync(fd);
      if (found.isSymbolicLink()) return void giveLink(place, found, group);
      const own = `/proc/self/fd/${fd}`;
      chownSync(own, found.uid, group);
      chmodSync(own, modeFor(found));
      if (found.isDirectory()) for (const name of readdirSync(own)) await visit(`${own}/${name}`, depth + 1);
    } finally {
      closeSync(fd);
    }
  };
  await visit(path, 0);
}

function giveLink(place: string, { uid }: Stats, group: number): void {
  try {
    lchownSync(place, uid, group);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function modeFor(found: Stats): number {
  const canRun = found.isDirectory() || (found.mode & 0o111) !== 0;
  return (found.mode & 0o1777) | 0o060 | (canRun ? 0o010 : 0) | (found.isDirectory() ? setGroup : 0);
}
