/** The real world behind the ports: the system's clock and randomness, this process and its commands. */
import {
  type ProcessPort,
  type ProcessResult,
  type RunOptions,
  systemClock,
  systemRandom,
  type World,
} from "@keelson/core";

/** Runs programs of this machine. */
export const systemProcess: ProcessPort = {
  get env() {
    return process.env;
  },
  get hostname() {
    return process.getBuiltinModule("node:os").hostname();
  },
  pid: process.pid,
  run,
};

/** The real clock, randomness and processes. */
export const systemWorld: World = { clock: systemClock, random: systemRandom, process: systemProcess };

/** What a credential plugin may need beyond a plain command. */
export interface TerminalRunOptions extends RunOptions {
  /** Input and messages are the person's terminal, so that a plugin can ask for a log-in. */
  readonly terminal?: boolean;
}

/** Rejects only when the command could not be started; a failing command is a result. */
async function run(
  command: string,
  args: readonly string[],
  options: TerminalRunOptions = {},
): Promise<ProcessResult> {
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve, reject) => {
    const child = spawn(command, [...args], {
      env: options.env,
      stdio: options.terminal ? ["inherit", "pipe", "inherit"] : ["pipe", "pipe", "pipe"],
      timeout: options.timeoutMs,
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
    // A command that never reads its input closes the pipe: that is no failure of the command.
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input ?? "");
  });
}
