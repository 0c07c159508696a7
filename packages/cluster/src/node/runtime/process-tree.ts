/** The processes of one container: those that share its first process's process namespace. */
import { readdir, readFile, readlink } from "node:fs/promises";
import type { ContainerUsage } from "./container-runtime.ts";

const ticksPerSecond = 100;
const pageBytes = 4096;

export async function processesOf(firstPid: number): Promise<number[]> {
  const namespace = await readlink(`/proc/${firstPid}/ns/pid`).catch(() => undefined);
  if (namespace === undefined) return [];
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if ((await readlink(`/proc/${name}/ns/pid`).catch(() => "")) === namespace) found.push(Number(name));
  }
  return found;
}

export async function usageOf(firstPid: number): Promise<ContainerUsage> {
  let memoryBytes = 0;
  let cpuNanoseconds = 0;
  for (const pid of await processesOf(firstPid)) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    if (stat === undefined) continue;
    // The command name may contain spaces; fields are counted from behind its parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    cpuNanoseconds += ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e9;
    memoryBytes += Number(fields[21]) * pageBytes;
  }
  return { memoryBytes, cpuNanoseconds };
}
