/** The first process of a pod whose containers see each other's processes: it waits, and buries orphans. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { NodeError } from "../errors.ts";
import { childrenOf } from "./terminal.ts";

export interface ProcessHolder {
  /** As the node sees it; number 1 in the pod. */
  readonly pid: number;
  /** Takes every process of the pod with it. */
  end(): Promise<void>;
}

const script = "trap '' TERM INT HUP; echo held; while :; do sleep 1000000 & wait; done";

export async function holdProcesses(unshare: string): Promise<ProcessHolder> {
  const child = spawn(unshare, ["--pid", "--fork", "--kill-child", "sh", "-c", script, "pause"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH },
  });
  const exited = once(child, "exit");
  const held = await Promise.race([once(child.stdout, "data").then(() => true), exited.then(() => false)]);
  const [pid] = held ? await childrenOf(child.pid ?? 0) : [];
  if (pid === undefined) {
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
