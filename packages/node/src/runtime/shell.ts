/** Runs several commands of the machine in one shell: one process start instead of many. */
import { runCommand } from "@keelson/machine";
import { NodeError, type NodeErrorCode } from "../errors.ts";
import { runInWaitingShell } from "./waiting-shell.ts";

/** A script that stops at the first failing command. It sees `files` as `/proc/self/fd/3` and up. */
export async function runScript(
  lines: readonly string[],
  failure: { code: NodeErrorCode; doing: string },
  files: readonly number[] = [],
): Promise<string> {
  const script = `${lines.join("\n")}\n`;
  const result =
    files.length === 0
      ? await runInWaitingShell(script)
      : await runCommand("sh", ["-e"], { input: script, files });
  if (result.code === 0) return result.stdout;
  const said = result.stderr.trim() || `exit code ${result.code}`;
  throw new NodeError(failure.code, `cannot ${failure.doing}: ${said}`);
}

/** A word that the shell takes literally. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A path in the options of an overlay. */
export function escapeOverlay(path: string): string {
  return path.replaceAll("\\", "\\\\").replaceAll(":", "\\:").replaceAll(",", "\\,");
}
