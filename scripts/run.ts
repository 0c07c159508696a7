/** Runs a command of the toolchain with its output shown, and says how it ended. */
import { execFileSync, spawn } from "node:child_process";
import { dirname, join } from "node:path";

export const root: string = join(import.meta.dirname, "..");

/** The environment of our own commands: the Node that runs us comes first. */
export const environment: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
};

export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit", env: { ...environment, ...env } });
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

/** Compiles all packages, or some and what they need. What is compiled already costs a second. */
export function compilePackages(...packages: readonly string[]): void {
  execFileSync("tsc", ["-b", ...packages], { cwd: root, env: environment, stdio: "inherit" });
}
