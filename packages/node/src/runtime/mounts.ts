/**
 * Removes directories of pods in which volumes may be mounted.
 *
 * Claims are bound into them, and lie on the same file system: to remove what is still mounted would remove the claim's
 * data, and no option of `rm` keeps it from that. So everything is unmounted first, by the kernel's own list of mounts,
 * and nothing is removed where that fails.
 */
import { readFileSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { quote, runScript } from "./shell.ts";

const unmounting = { code: "MountFailed", doing: "unmount what a pod left" } as const;

/** Where something is mounted at or below a path, the latest first; a place has as many entries as mounts. */
export function mountsBelow(path: string): string[] {
  let [real, table] = ["", ""];
  try {
    real = realpathSync(path);
    table = readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    // Nothing is there, or no mounts are on this machine.
    return [];
  }
  return table
    .split("\n")
    .map((line) => unescaped(line.split(" ")[4] ?? ""))
    .filter((point) => point === real || point.startsWith(`${real}/`))
    .reverse();
}

/** The table writes blanks and backslashes in octal. */
function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function unmount(path: string): string[] {
  const mounted = mountsBelow(path);
  return mounted.length === 0 ? [] : [`umount -l ${mounted.map(quote).join(" ")}`];
}

/** The lines of a script that removes a directory; it stops where something stays mounted. */
export function removalOf(directory: string): string[] {
  return [...unmount(directory), `rm -rf --one-file-system ${quote(directory)}`];
}

/** Unmounts everything at or below a path. */
export async function unmountBelow(path: string): Promise<void> {
  const lines = unmount(path);
  if (lines.length > 0) await runScript(lines, unmounting);
}

/** Removes a file or directory and what is mounted in it, but not what that holds. */
export async function removeUnmounted(path: string): Promise<void> {
  await unmountBelow(path);
  await rm(path, { recursive: true, force: true });
}
