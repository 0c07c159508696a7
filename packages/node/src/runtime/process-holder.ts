/** The first process of a pod whose containers see each other's processes: it waits, and buries orphans. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import type { IdMode } from "@keelson/machine";
import { NodeError } from "../errors.ts";
import { pauseProgram } from "./confinement.ts";
import type { ProgramFiles } from "./program-files.ts";
import type { Processor } from "./syscalls.ts";

export interface ProcessHolder {
  /** As the node sees it; number 1 in the pod. */
  readonly pid: number;
  /** Takes every process of the pod with it. */
  end(): Promise<void>;
}

export interface HolderSetting {
  readonly tools: { readonly bwrap: string; readonly nsenter: string };
  /** nsenter's options for the pod's namespaces. */
  readonly enter: readonly string[];
  /** Puts a process into the pod's control group. */
  readonly group: readonly string[];
  readonly programs: ProgramFiles;
  readonly processor: Processor;
  readonly filter: Buffer;
  readonly ids: IdMode;
  readonly lastCapability: number;
}

const infoFd = 3;
const programFd = 4;

/** Containers can look into it as into each other: it has an empty root, no privileges and nothing to tell. */
export async function holdProcesses(setting: HolderSetting): Promise<ProcessHolder> {
  const { tools, enter, group, programs, processor, ...confinement } = setting;
  const program = programs.add(pauseProgram(confinement, processor));
  const [command = "", ...args] = [
    ...[...group, tools.nsenter, ...enter, "--", tools.bwrap, "--unshare-pid", "--as-pid-1"],
    ...["--die-with-parent", "--new-session", "--unshare-cgroup-try", "--info-fd", String(infoFd)],
    ...["--proc", "/proc", "--remount-ro", "/", "--clearenv", "--", `/proc/self/fd/${programFd}`],
  ];
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "ignore", "pipe", program], env: {} });
  closeSync(program);
  const exited = once(child, "exit");
  const pid = Number(/"child-pid": (\d+)/.exec(await readInfo(child.stdio[infoFd] as Readable))?.[1]);
  if (!Number.isInteger(pid)) {
    child.kill("SIGKILL");
    throw new NodeError("SandboxFailed", "the pod's view of processes could not be made");
  }
  return {
    pid,
    end: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** One object of bubblewrap's. The process that started the sandbox may hold the other end open for as long as it lives. */
export async function readInfo(stream: Readable): Promise<string> {
  let text = "";
  try {
    for await (const chunk of stream) {
      text += String(chunk);
      if (text.includes("}")) break;
    }
  } catch {
    // The sandbox died; the caller sees that nothing was said.
  }
  return text;
}
