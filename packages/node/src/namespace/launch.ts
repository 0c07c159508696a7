/**
 * Starts a Node program in namespaces of its own (user, network, mount, process), where it is root.
 *
 * The first process of the new process namespace is a shell that only waits: it reaps orphans, and when it or
 * the program ends the kernel kills everything inside. When the starter dies, so does the shell.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { findOnPath } from "@keelson/images/internal";
import { chooseIdMap, type IdMap, writeIdMap } from "@keelson/machine";
import { NodeError } from "../errors.ts";

export interface LaunchOptions {
  /** The module to run; it talks to us through `process.send`. */
  readonly module: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly onOutput?: (line: string) => void;
}

export interface NamespaceProcess {
  readonly child: ChildProcess;
  readonly ids: IdMap;
  /** Resolves when everything inside is gone. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(): void;
}

const gate = 'echo ready >&4; read -r _ || exit 1; exec 4>&-; "$@" </dev/null; exit $?';

export async function launchInNamespace(options: LaunchOptions): Promise<NamespaceProcess> {
  if (process.platform !== "linux") {
    throw new NodeError(
      "SandboxUnsupported",
      `pods run as processes on Linux only, and this is ${process.platform}`,
    );
  }
  const ids = chooseIdMap();
  const unshare = required("unshare");
  const flags = [
    "--user",
    "--net",
    "--mount",
    "--pid",
    "--ipc",
    "--uts",
    "--fork",
    "--kill-child",
    "--mount-proc",
  ];
  const program = [process.execPath, ...process.execArgv, options.module, ...(options.args ?? [])];
  const setpriv = findOnPath("setpriv");
  const dieWithParent = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL"];
  const [command = unshare, ...rest] = [
    ...dieWithParent,
    unshare,
    ...flags,
    "sh",
    "-c",
    gate,
    "keelson-node",
    ...program,
  ];
  const child = spawn(command, rest, {
    env: options.env ?? process.env,
    stdio: ["pipe", "pipe", "pipe", "ipc", "pipe"],
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const complaints = collect(child, options.onOutput);
  const ready = child.stdio[4] as unknown as Readable;
  ready.on("error", () => undefined);
  const started = await Promise.race([
    once(ready, "data").then(() => true),
    exited.then(() => false),
    once(child, "error").then(() => false),
  ]);
  if (!started || child.pid === undefined) throw unsupported(complaints());
  try {
    writeIdMap(child.pid, ids);
  } catch (error) {
    child.kill("SIGKILL");
    throw new NodeError("SandboxUnsupported", `cannot map user ids into a namespace: ${String(error)}`, {
      cause: error,
    });
  }
  const stdin = child.stdin as Writable;
  stdin.on("error", () => undefined);
  stdin.write("go\n");
  return { child, ids, exited, kill: () => void child.kill("SIGKILL") };
}

function collect(child: ChildProcess, onOutput: ((line: string) => void) | undefined): () => string {
  let last = "";
  for (const stream of [child.stdout, child.stderr]) {
    let partial = "";
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (partial + chunk).split("\n");
      partial = lines.pop() ?? "";
      for (const line of lines) {
        last = line;
        onOutput?.(line);
      }
    });
  }
  return () => last;
}

function required(name: string): string {
  const path = findOnPath(name);
  if (path === undefined) {
    throw new NodeError("SandboxUnsupported", `${name} is not on this machine: install util-linux`);
  }
  return path;
}

function unsupported(complaint: string): NodeError {
  const reason = complaint === "" ? "unshare failed" : complaint;
  return new NodeError(
    "SandboxUnsupported",
    `this machine does not allow user, network, mount and process namespaces (${reason}); on Linux allow unprivileged user namespaces, or run as root outside a locked-down container`,
  );
}
