/** Installs a new project's packages, with the package manager that its author uses. */
import { spawn } from "node:child_process";
import { CliError } from "../errors.ts";

/** The package managers that start `create-keelson`, and how each installs without a word. */
const managers = {
  npm: ["install", "--no-audit", "--no-fund", "--loglevel=error"],
  pnpm: ["install", "--loglevel=error"],
  yarn: ["install"],
  bun: ["install", "--silent"],
} as const;

/** A package manager. */
export type Manager = keyof typeof managers;

/** Who started us, by what every package manager says of itself: `pnpm/10.1.0 npm/? node/v24.0.0`. */
export function managerOf(userAgent = ""): Manager {
  const [name = ""] = userAgent.split("/");
  return name in managers ? (name as Manager) : "npm";
}

export async function installPackages(directory: string, manager: Manager = "npm"): Promise<void> {
  const child = spawn(manager, managers[manager], {
    cwd: directory,
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32",
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const end = await new Promise<number | Error>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) => resolve(code ?? 1));
  });
  if (end === 0) return;
  const why = said.split("\n").find((line) => /^npm (error|ERR!) (?!code |errno |A complete log)/.test(line));
  throw new CliError(
    "InstallFailed",
    `the files are written, but ${manager} install failed in ${directory}: ` +
      `${why?.replace(/^npm (error|ERR!) /, "") ?? (end instanceof Error ? end.message : `exit code ${end}`)}; run it there again`,
  );
}
