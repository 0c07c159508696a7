/** Ends a postmaster with everything it started: a backend that is left alone could still acknowledge a commit. */
import { readdirSync, readFileSync } from "node:fs";

/** Returns how many processes were ended. */
export function killTree(postmaster: number): number {
  // Stopped first, so that it starts nothing while we look.
  if (!signal(postmaster, "SIGSTOP")) return 0;
  const children = childrenOf(postmaster);
  signal(postmaster, "SIGKILL");
  for (const pid of children) signal(pid, "SIGKILL");
  return children.length + 1;
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
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if (statusOf(Number(name))?.parent === parent) found.push(Number(name));
  }
  return found;
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
