/** Marks that tell which process made something, so that what a dead one left is not taken for what is in use. */
import { readFileSync, readlinkSync, rmSync } from "node:fs";
import { constants, copyFile, link, readFile, rename, rm, writeFile } from "node:fs/promises";

/** `4026531836-1234-567890`: the view of processes, the process, and when it started. */
export const markPattern = "\\d+-\\d+-\\d+";

/** The mark of this process: its process namespace, its id and when it started. */
export function ownMark(): string {
  return `${processView()}-${process.pid}-${startTicksOf(process.pid) ?? "0"}`;
}

/** Whether the process of this mark is gone. One that we could not see from here counts as alive; what is no mark is nobody's. */
export function isAbandoned(mark: string): boolean {
  if (!new RegExp(`^${markPattern}$`).test(mark)) return true;
  const [view, pid, ticks] = mark.split("-");
  return view === processView() && startTicksOf(Number(pid)) !== ticks;
}

/** Start time of a process, or undefined when there is none; a zombie counts as none. */
export function startTicksOf(pid: number): string | undefined {
  if (process.platform !== "linux") return isRunning(pid) ? "0" : undefined;
  const fields = statOf(pid);
  return fields?.[0] === "Z" ? undefined : fields?.[19];
}

/** Whether a process was stopped by SIGSTOP; false where that cannot be told. */
export function isStopped(pid: number): boolean {
  return statOf(pid)?.[0] === "T";
}

/** What the kernel tells of a process, from its state on. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** A lock file that this process holds. */
export interface HeldLock extends AsyncDisposable {
  release(): void;
}

/**
 * What is thrown while the process of that number holds a lock. `isElsewhere` where its number means nothing here, as in
 * another container: whether it lives cannot be told then.
 */
export type InUse = (pid: string, isElsewhere: boolean) => Error;

/**
 * Holds a file with our mark until disposal. Throws what `inUse` makes of it while another process holds it.
 *
 * The file appears with its mark in it. One without a mark is what a full disk or a power cut left, and is taken over.
 * Only the holder of a second lock beside it takes over, so that of several that find a dead lock one gets it.
 */
export async function holdLock(path: string, inUse: InUse): Promise<HeldLock> {
  const own = `${path}.${ownMark()}-${locks++}`;
  try {
    await writeFile(own, ownMark(), { mode: 0o600 });
    while (!(await tryLink(own, path))) {
      // Released at this moment.
      const holder = await holderOf(path, inUse);
      if (holder === undefined) continue;
      await using _ = await holdLock(`${path}.next`, inUse);
      // Another may have taken over, and even let go, before we got the second lock.
      if ((await holderOf(path, inUse)) === undefined) continue;
      await rename(own, path);
      break;
    }
  } finally {
    await rm(own, { force: true });
  }
  const release = () => rmSync(path, { force: true });
  return { release, [Symbol.asyncDispose]: async () => release() };
}

/** The mark of a dead holder, or undefined when there is no lock. Throws what `inUse` makes of one that lives. */
async function holderOf(path: string, inUse: InUse): Promise<string | undefined> {
  const mark = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (mark === undefined || isAbandoned(mark)) return mark;
  const [view, pid = "?"] = mark.split("-");
  throw inUse(pid, view !== processView());
}

/** Several locks of one process are made at the same time. */
let locks = 0;

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") throw error;
      // Some file systems have no links.
      await copyFile(from, to, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Process ids mean something only within one process namespace. */
function processView(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
