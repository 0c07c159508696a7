/** A project's operator as a process of its own: what its image starts, on this machine. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** The module that runs the operator. */
export function mainOf({ directory, main }: Project): string {
  const path = join(directory, main);
  if (existsSync(path)) return path;
  throw new CliError("NoOperator", `${path} does not exist; run the operator there: await app.run()`);
}

/** Flags of a Node that runs a module of the project. */
export function nodeFlagsFor({ directory }: Project): string[] {
  return [
    "--disable-warning=ExperimentalWarning",
    ...(usesSources(directory) ? ["--conditions=keelson-source"] : []),
  ];
}

/** In a clone of Keelson nothing is built; what a project elsewhere has installed was. */
function usesSources(directory: string): boolean {
  try {
    const manifest = findPackageJSON("keelson", pathToFileURL(join(directory, "package.json")));
    return manifest !== undefined && existsSync(join(dirname(manifest), "src/index.ts"));
  } catch {
    return false;
  }
}

/** Runs the operator in the terminal until a signal ends it. Throws in one sentence when it ends in another way. */
export async function runToItsEnd(
  project: Project,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const options: SpawnOptions = {
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
    env: { ...process.env, ...env },
  };
  const child = spawn(process.execPath, [...nodeFlagsFor(project), mainOf(project)], options);
  const stop = passSignals(child);
  try {
    const end = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) =>
        resolve(signal === null ? `with exit code ${code}` : `by ${signal}`),
      );
    });
    if (end === "with exit code 0") return;
    throw new CliError("OperatorEnded", `${name} ended ${end}; its log says why`);
  } finally {
    stop();
  }
}

/** It is in a group of its own: a signal that reaches the whole terminal would come twice, and twice means at once. */
function passSignals(child: ChildProcess): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const pass = (signal: NodeJS.Signals) => void child.kill(signal === "SIGHUP" ? "SIGTERM" : signal);
  for (const signal of signals) process.on(signal, pass);
  return () => {
    for (const signal of signals) process.off(signal, pass);
  };
}
