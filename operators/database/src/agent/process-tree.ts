/** Ends a postmaster with everything it started: a backend that is left alone could still acknowledge a commit. */
import { readdirSync, readFileSync, statSync } from "node:fs";

/** Returns how many processes were ended. `directory` is that of the data, in which all of them work. */
export function killTree(postmaster: number, directory: string): number {
  // Stopped first, so that it starts nothing while we look.
  const isThere = signal(postmaster, "SIGSTOP");
  const children = isThere ? childrenOf(postmaster) : [];
  if (isThere) signal(postmaster, "SIGKILL");
  for (const pid of children) signal(pid, "SIGKILL");
  return children.length + Number(isThere) + killLeft(directory);
}

/**
 * Ends what a postmaster that died has left. Those that it started notice only when they wait for something: one that
 * works goes on, may acknowledge a commit, and keeps the next server from starting. Returns how many there were.
 */
export function killLeft(directory: string): number {
  const place = placeOf(directory);
  const left = place === undefined ? [] : processes().filter((pid) => placeOf(`/proc/${pid}/cwd`) === place);
  for (const pid of left) signal(pid, "SIGKILL");
  return left.length;
}

/** The same for the same directory, whichever path leads to it; undefined when there is none. */
function placeOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** Asks a process to end, if it is there. */
export function endProcess(pid: number): void {
  signal(pid, "SIGTERM");
}

/** False when there is no such process. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

function childrenOf(parent: number): number[] {
  return processes().filter((pid) => statusOf(pid)?.parent === parent);
}

function processes(): number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** True while the process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  const status = statusOf(pid);
  return status !== undefined && status.state !== "Z" && status.state !== "X";
}

function statusOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    // The name, in brackets, may hold anything; what follows it is fixed.
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = "0"] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
