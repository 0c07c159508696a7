/** Installs a new project's packages with npm. */
import { spawn } from "node:child_process";
import { CliError } from "../errors.ts";

export async function installPackages(directory: string): Promise<void> {
  const npm = spawn("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: directory,
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32",
  });
  let said = "";
  npm.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const end = await new Promise<number | Error>((resolve) => {
    npm.once("error", resolve);
    npm.once("close", (code) => resolve(code ?? 1));
  });
  if (end === 0) return;
  const why = said.split("\n").find((line) => /^npm (error|ERR!) (?!code |errno |A complete log)/.test(line));
  throw new CliError(
    "InstallFailed",
    `the files are written, but npm install failed in ${directory}: ` +
      `${why?.replace(/^npm (error|ERR!) /, "") ?? (end instanceof Error ? end.message : `exit code ${end}`)}; run it there again`,
  );
}
