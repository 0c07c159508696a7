/** The processes of one container: those that share a namespace with its first process. */
import { readdir, readFile, readlink } from "node:fs/promises";
import type { ContainerUsage } from "./container-runtime.ts";

const ticksPerSecond = 100;
const pageBytes = 4096;

/** `pid:[4026532290]`; undefined when the process is gone. */
export async function namespaceOf(pid: number, kind: "pid" | "mnt"): Promise<string | undefined> {
  return await readlink(`/proc/${pid}/ns/${kind}`).catch(() => undefined);
}

export async function processesIn(namespace: string | undefined): Promise<number[]> {
  const kind = namespace?.split(":")[0];
  if (kind !== "pid" && kind !== "mnt") return [];
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if ((await namespaceOf(Number(name), kind)) === namespace) found.push(Number(name));
  }
  return found;
}

export async function usageOf(pids: readonly number[]): Promise<ContainerUsage> {
  let memoryBytes = 0;
  let cpuNanoseconds = 0;
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    if (stat === undefined) continue;
    // The command name may contain spaces; fields are counted from behind its parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    cpuNanoseconds += ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e9;
    memoryBytes += Number(fields[21]) * pageBytes;
  }
  return { memoryBytes, cpuNanoseconds };
}
