/** The processes of one container: those that share a namespace with its first process. */
import { closeSync, openSync, readlinkSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import type { ContainerUsage } from "./container-runtime.ts";

const ticksPerSecond = 100;
const pageBytes = 4096;

/**
 * They are found by their namespace, which is held open until `close`: the kernel gives the number of a namespace that is
 * gone to the next one, and that may be another container's.
 */
export class ContainerProcesses {
  readonly #kind: "pid" | "mnt";
  readonly #fd: number | undefined;
  /** `pid:[4026532290]` */
  readonly #namespace: string | undefined;
  readonly #looks = new Set<Promise<unknown>>();
  #closed = false;

  /** None, where the first process is gone already. */
  constructor(firstPid: number, kind: "pid" | "mnt") {
    this.#kind = kind;
    try {
      this.#fd = openSync(`/proc/${firstPid}/ns/${kind}`, "r");
      this.#namespace = readlinkSync(`/proc/self/fd/${this.#fd}`);
    } catch {
      this.#closed = true;
    }
  }

  /** The namespace is held until `act` has ended. */
  async look<T>(act: (pids: readonly number[]) => T | Promise<T>): Promise<T> {
    const looking = this.#list().then(act);
    const ended = looking.then(
      () => undefined,
      () => undefined,
    );
    this.#looks.add(ended);
    void ended.then(() => this.#looks.delete(ended));
    return await looking;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all(this.#looks);
    if (this.#fd !== undefined) closeSync(this.#fd);
  }

  async #list(): Promise<readonly number[]> {
    if (this.#closed) return [];
    const found: number[] = [];
    for (const name of await readdir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const namespace = await readlink(`/proc/${name}/ns/${this.#kind}`).catch(() => undefined);
      if (namespace === this.#namespace) found.push(Number(name));
    }
    return found;
  }
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
