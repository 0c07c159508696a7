/** Runs short commands of the machine (apt-get, tar, ldd) and collects what they say. */
import { spawn } from "node:child_process";
import type { Environment } from "./cache-directory.ts";

/** How a command ended, and what it printed. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is run. */
export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Environment;
  readonly input?: string;
  readonly signal?: AbortSignal;
  /** Open files that the command inherits, as 3 and up. */
  readonly files?: readonly number[];
}

/** Resolves whatever the exit code; rejects only when the command cannot be started. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...(options.env ?? process.env), LC_ALL: "C" },
    signal: options.signal,
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe", ...(options.files ?? [])],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  child.on("error", reject);
  // A command may exit before it has read its input; its exit code tells the story then.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(options.input);
  child.on("close", (code, signal) => resolve({ code: signal ? 128 : (code ?? 0), stdout, stderr }));
  return promise;
}

/** Runs `producer | consumer` and resolves when both succeed. */
export function pipeCommands(
  producer: readonly [string, ...string[]],
  consumer: readonly [string, ...string[]],
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const from = spawn(producer[0], producer.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  const into = spawn(consumer[0], consumer.slice(1), { stdio: [from.stdout, "ignore", "pipe"] });
  let complaints = "";
  let running = 2;
  let failed: string | undefined;
  for (const child of [from, into]) {
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      complaints += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code !== 0) failed ??= child.spawnargs[0];
      if (--running > 0) return;
      if (failed === undefined) resolve();
      else reject(new Error(`${failed} failed: ${complaints.trim()}`));
    });
  }
  // The consumer has its own copy of the pipe; ours must not hold it open.
  from.stdout.destroy();
  return promise;
}
