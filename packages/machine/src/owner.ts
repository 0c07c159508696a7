/** Marks that tell which process made something, so that what a dead one left is not taken for what is in use. */
import { readFileSync, readlinkSync, rmSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";

/** `4026531836-1234-567890`: the view of processes, the process, and when it started. */
export const markPattern = "\\d+-\\d+-\\d+";

/** The mark of this process: its process namespace, its id and when it started. */
export function ownMark(): string {
  return `${processView()}-${process.pid}-${startTicksOf(process.pid) ?? "0"}`;
}

/** Whether the process of this mark is gone. One that we could not see from here counts as alive. */
export function isAbandoned(mark: string): boolean {
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

/** Holds a file with our mark until disposal. Throws what `inUse` makes of it while another process holds it. */
export async function holdLock(path: string, inUse: (pid: string) => Error): Promise<HeldLock> {
  const taken = await readFile(path, "utf8").catch(() => undefined);
  if (taken !== undefined && isAbandoned(taken)) await rm(path, { force: true });
  try {
    await writeFile(path, ownMark(), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const [, pid = "?"] = (await readFile(path, "utf8").catch(() => "")).split("-");
    throw inUse(pid);
  }
  const release = () => rmSync(path, { force: true });
  return { release, [Symbol.asyncDispose]: async () => release() };
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
