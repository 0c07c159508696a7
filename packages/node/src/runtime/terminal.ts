/** Terminals for containers and exec, made by the machine's `script` command. */
import { readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "@keelson/machine";
import type { TerminalSize } from "./container-runtime.ts";
import { quote } from "./shell.ts";

/** Wraps a command so that it runs on a terminal of its own and its exit code comes through. */
export function onTerminal(script: string, command: readonly string[]): string[] {
  return [script, "-q", "-e", "-f", "-E", "always", "-c", command.map(quote).join(" "), "/dev/null"];
}

/** A client tells its size before the command has its terminal: this long we look for it. */
const patienceMs = 2_000;
const lookMs = 10;

/** Sets the size of the terminal that the children of `scriptPid` run on; they get SIGWINCH. */
export async function resizeTerminal(scriptPid: number, size: TerminalSize): Promise<void> {
  for (let waited = 0; waited < patienceMs; waited += lookMs) {
    const device = await terminalOf(scriptPid);
    if (device === undefined) {
      await sleep(lookMs);
      continue;
    }
    await runCommand("stty", ["-F", device, "cols", String(size.columns), "rows", String(size.rows)]);
    return;
  }
}

async function terminalOf(scriptPid: number): Promise<string | undefined> {
  for (const child of await childrenOf(scriptPid)) {
    const device = await readlink(`/proc/${child}/fd/0`).catch(() => "");
    if (device.startsWith("/dev/pts/")) return device;
  }
  return undefined;
}

/** The direct children of a process, as its own process namespace numbers them. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}
