// A process that owns a control plane's programs and its directory, and ends both when its parent is gone.
//
// Whoever starts it sends `KeeperRequest`s over the channel and hears `KeeperReport`s. When the channel closes,
// because the parent disposed of the control plane or was killed, every program is killed and the directory is
// removed. It runs in a session of its own, so that Ctrl-C in a terminal reaches the parent alone.
// Where Linux can (setpriv of util-linux), the programs also die with a keeper that is itself killed.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, rmSync } from "node:fs";

export interface KeeperRequest {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File that gets everything the program prints. */
  readonly log: string;
}

export type KeeperReport =
  | { readonly type: "started"; readonly name: string; readonly pid: number }
  | { readonly type: "exited"; readonly name: string; readonly how: string };

const [directory] = process.argv.slice(2);
const programs = new Set<ChildProcess>();
// It replaces itself by the program, so that process id and exit code stay the program's own.
const dieWithKeeper = ["setpriv", "--pdeathsig", "KILL"];
const prefix =
  spawnSync(dieWithKeeper[0] ?? "", [...dieWithKeeper.slice(1), "true"]).status === 0 ? dieWithKeeper : [];

function start({ name, command, args, log }: KeeperRequest): void {
  const file = openSync(log, "a");
  const [executable = command, ...rest] = [...prefix, command, ...args];
  const child = spawn(executable, rest, { stdio: ["ignore", file, file] });
  closeSync(file);
  programs.add(child);
  child.on("spawn", () => report({ type: "started", name, pid: child.pid ?? 0 }));
  child.on("error", (error) => ended(child, name, error.message));
  child.on("exit", (code, signal) => ended(child, name, signal ?? `exit code ${code}`));
}

function ended(child: ChildProcess, name: string, how: string): void {
  if (programs.delete(child)) report({ type: "exited", name, how });
}

function report(message: KeeperReport): void {
  if (process.connected) process.send?.(message, () => {});
}

async function stop(): Promise<void> {
  // The directory is thrown away, so there is nothing that a graceful end could save.
  const endings = [...programs].map((child) => {
    child.kill("SIGKILL");
    return once(child, "exit");
  });
  await Promise.allSettled(endings);
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  process.exit();
}

process.on("message", start);
process.on("disconnect", stop);
// The parent may have died before there was anybody to hear of it.
if (!process.connected) await stop();
// A polite signal, say from a service manager that ends everything at once, must not leave programs behind.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
