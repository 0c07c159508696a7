/** Looks for a command inside a container's future root, to say early and clearly when there is none. */
import { stat } from "node:fs/promises";
import { posix } from "node:path";
import { locate, type RootView } from "@keelson/images/internal";

export type ExecutableProblem = "not found" | "is a directory" | "permission denied";

/** Undefined when the command can be run. */
export async function executableProblem(
  view: RootView,
  command: string,
  cwd: string,
  path: string,
): Promise<ExecutableProblem | undefined> {
  if (command.includes("/")) return await look(view, posix.resolve(cwd, command));
  let problem: ExecutableProblem = "not found";
  for (const directory of path.split(":")) {
    const found = await look(view, posix.resolve(cwd, directory || ".", command));
    if (found === undefined) return undefined;
    if (found === "permission denied") problem = found;
  }
  return problem;
}

async function look(view: RootView, path: string): Promise<ExecutableProblem | undefined> {
  const real = await locate(view, path);
  const found = real === undefined ? undefined : await stat(real).catch(() => undefined);
  if (found === undefined) return "not found";
  if (found.isDirectory()) return "is a directory";
  return (found.mode & 0o111) === 0 ? "permission denied" : undefined;
}
